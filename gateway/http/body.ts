import type { IncomingMessage } from 'node:http'
import { PublicError } from '#lib/errors/public-error.ts'

/** The largest body (E7). */
export const BODY_MAX_BYTES = 1024 * 1024

/**
 * The bytes of the body, exactly as they came: signatures are over them. More than 1 MiB is 1003, told at once when
 * the length is announced. Rejects with a `CallerGone` when the connection breaks first.
 */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES)
    return Promise.reject(new PublicError(1003))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer): void => {
      length += chunk.length
      if (length <= BODY_MAX_BYTES) return void chunks.push(chunk)
      // What still comes is read and dropped, so that a caller that is busy sending gets to see the answer.
      chunks.length = 0
      reject(new PublicError(1003))
    }
    request.on('data', take)
    request.on('end', () => resolve(Buffer.concat(chunks, Math.min(length, BODY_MAX_BYTES))))
    request.on('error', (cause) => reject(new CallerGone('the connection broke', { cause })))
  })
}

/** The caller broke off before its request was complete: there is nobody to answer and nothing was done. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'
}
