import { PublicError } from '#lib/errors/public-error.ts'
import { clock } from '#lib/time.ts'
import { hasHeader, onlyHeader } from '../http/headers.ts'

const TIMESTAMP = /^[0-9]{1,12}$/
const NONCE = /^[\x21-\x7e]{1,128}$/

/**
 * The optional replay proof of a v1 request: both headers or neither, each once and well formed, and fresh within
 * `window_ms` of now (A3, A4); anything else is 3000.
 */
export function checkFreshness(raw_headers: readonly string[], window_ms: number): void {
  if (!hasHeader(raw_headers, 'x-data-timestamp') && !hasHeader(raw_headers, 'x-data-nonce')) return
  const timestamp = onlyHeader(raw_headers, 'x-data-timestamp')
  const nonce = onlyHeader(raw_headers, 'x-data-nonce')
  if (timestamp === undefined || !TIMESTAMP.test(timestamp)) throw new PublicError(3000)
  if (nonce === undefined || !NONCE.test(nonce)) throw new PublicError(3000)
  if (Math.abs(clock.now_ms() - Number(timestamp) * 1000) > window_ms) throw new PublicError(3000)
}
