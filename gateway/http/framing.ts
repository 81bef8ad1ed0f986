import type { IncomingMessage } from 'node:http'
import { PublicError } from '#lib/errors/public-error.ts'
import { hasHeader, onlyHeader } from './headers.ts'

/** More headers than any client sends; their bytes are bounded by the server too. */
const HEADERS_MAX = 100

/** JSON is UTF-8 whether it says so or not; an empty parameter is allowed by HTTP. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8")[ \t]*)?)*$/i

/**
 * Refuses a request whose head is wrong, before its body is read, in the order of A1 and E7: content type and
 * encoding 1006, then whatever else does not belong on a public route 1003.
 */
export function checkFraming({ rawHeaders, url = '', httpVersion }: IncomingMessage): void {
  const content_type = onlyHeader(rawHeaders, 'content-type')
  if (content_type === undefined || !JSON_TYPE.test(content_type)) throw new PublicError(1006)
  if (hasHeader(rawHeaders, 'content-encoding')) throw new PublicError(1006)
  if (url.includes('?')) throw new PublicError(1003)
  if (rawHeaders.length > 2 * HEADERS_MAX) throw new PublicError(1003)
  if (httpVersion === '1.1' && onlyHeader(rawHeaders, 'host') === undefined) throw new PublicError(1003)
}
