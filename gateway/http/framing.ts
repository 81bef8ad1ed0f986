import type { IncomingMessage } from 'node:http'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { hasHeader, singleHeader } from './headers.ts'
import { HTTP_LIMITS } from './http-limits.ts'

/** JSON is UTF-8 whether it says so or not; an empty parameter is allowed by HTTP. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8")[ \t]*)?)*$/i

/**
 * Refuses a request whose head is wrong, before its body is read, in the order of A1 and E7: content type and
 * encoding 1006, then whatever else does not belong on a public route 1003.
 */
export function checkFraming(request: IncomingMessage): void {
  const { rawHeaders } = request
  const content_type = singleHeader(rawHeaders, 'content-type')
  if (content_type === undefined || !JSON_TYPE.test(content_type)) throw new PublicError(1006)
  if (hasHeader(rawHeaders, 'content-encoding')) throw new PublicError(1006)
  checkHead(request)
}

/** The part of it that holds on every public route, with or without a body. The 1003 says in `details` what is wrong. */
export function checkHead(request: IncomingMessage): void {
  const { rawHeaders, url = '', httpVersion } = request
  if (url.includes('?')) throw fieldError(1003, 'query')
  if (rawHeaders.length > 2 * HTTP_LIMITS.headers_max) throw fieldError(1003, 'headers')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw fieldError(1003, 'version')
  if (httpVersion === '1.1' && singleHeader(rawHeaders, 'host') === undefined) throw fieldError(1003, 'host')
  if (!isFramedPlainly(request)) throw fieldError(1003, 'transfer-encoding')
}

/**
 * Whether nobody on the way can have read the end of the body in another way than we do: HTTP/1.0 has no chunks, and
 * of a body that is compressed as well (`gzip, chunked`) we would take the compressed bytes for the body.
 */
function isFramedPlainly({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')
}
