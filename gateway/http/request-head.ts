import type { IncomingMessage } from 'node:http'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { HTTP_LIMITS } from './http-limits.ts'

/** `application/json`, with `charset=utf-8` or no charset. HTTP allows empty parameters. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8")[ \t]*)?)*$/i

/**
 * Refuses a request with a wrong head before its body is read, in the order of A1 and E7: 1006 for the content type or a
 * content encoding, then 1003 for everything that `checkRequestHead` refuses.
 */
export function checkJsonRequestHead(request: IncomingMessage): void {
  const { rawHeaders } = request
  const content_type = singleHeader(rawHeaders, 'content-type')
  if (content_type === undefined || !JSON_TYPE.test(content_type)) throw new PublicError(1006)
  if (hasHeader(rawHeaders, 'content-encoding')) throw new PublicError(1006)
  checkRequestHead(request)
}

/** The checks of every public path, with or without a body. Throws 1003 with the wrong part in `details`. */
export function checkRequestHead(request: IncomingMessage): void {
  const { rawHeaders, url = '', httpVersion } = request
  if (url.includes('?')) throw fieldError(1003, 'query')
  if (rawHeaders.length > 2 * HTTP_LIMITS.headers_max) throw fieldError(1003, 'headers')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw fieldError(1003, 'version')
  if (httpVersion === '1.1' && singleHeader(rawHeaders, 'host') === undefined) throw fieldError(1003, 'host')
  if (!hasUnambiguousFraming(request)) throw fieldError(1003, 'transfer-encoding')
}

/**
 * Rejects framing that a proxy may read differently (request smuggling): chunks in HTTP/1.0, which has none, and any
 * coding except `chunked` alone. For `gzip, chunked` Node would return the compressed bytes as the body.
 */
function hasUnambiguousFraming({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')
}

/**
 * The value of a header that must be sent exactly once (A4); `undefined` when it is missing or repeated. Reads the raw
 * header list, because Node joins repeated headers or drops all but one. `name` must be lower case.
 */
export function singleHeader(raw_headers: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let index = 0; index < raw_headers.length; index += 2) {
    if (!hasName(raw_headers[index], name)) continue
    if (value !== undefined) return undefined
    value = raw_headers[index + 1]
  }
  return value
}

/** Whether a header was sent at least once. `name` must be lower case. */
export function hasHeader(raw_headers: readonly string[], name: string): boolean {
  for (let index = 0; index < raw_headers.length; index += 2) {
    if (hasName(raw_headers[index], name)) return true
  }
  return false
}

/** Compares lengths first, which spares most headers the conversion to lower case. */
function hasName(header: string | undefined, name: string): boolean {
  return header !== undefined && header.length === name.length && header.toLowerCase() === name
}
