import type { IncomingMessage } from 'node:http'
import { PublicError } from '#lib/errors/public-error.ts'

/** The largest body (E7). */
export const BODY_MAX_BYTES = 1024 * 1024

/**
 * So many bytes of unfinished bodies a process holds at once. Bodies come before anybody has proved who he is, so
 * without it a few hundred strangers could take all memory; beyond it a request is told to come again (2002).
 */
const HELD_MAX_BYTES = 128 * 1024 * 1024

let held_bytes = 0

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
    let kept = 0
    let refused = false
    const release = (): void => {
      held_bytes -= kept
      kept = 0
    }
    const refuse = (error: Error): void => {
      // What still comes is read and dropped, so that a caller that is busy sending gets to see the answer.
      refused = true
      chunks.length = 0
      release()
      reject(error)
    }
    const take = (chunk: Buffer): void => {
      if (refused) return
      length += chunk.length
      if (length > BODY_MAX_BYTES) refuse(new PublicError(1003))
      else if (held_bytes + chunk.length > HELD_MAX_BYTES) refuse(new PublicError(2002))
      else {
        kept += chunk.length
        held_bytes += chunk.length
        chunks.push(chunk)
      }
    }
    request.on('data', take)
    request.on('end', () => {
      release()
      resolve(Buffer.concat(chunks))
    })
    request.on('error', (cause) => refuse(new CallerGone('the connection broke', { cause })))
  })
}

/** The caller broke off before its request was complete: there is nobody to answer and nothing was done. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'
}
