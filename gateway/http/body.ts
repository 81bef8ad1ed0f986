import { fieldError, PublicError } from '#lib/errors/public-error.ts'
import { BODY_MAX_BYTES, HTTP_BOUNDS } from './bounds.ts'
import type { Exchange } from './exchange.ts'
import { holdBody } from './held.ts'

/**
 * The bytes of the body, exactly as they came: signatures are over them. More than 1 MiB is 1003, told at once when
 * the length is announced, and so is one that comes in crumbs, which cost far more than their bytes; a long body that
 * cannot be held now is told to come again (2002). `from` is whose share of the memory it takes. Rejects with a
 * `CallerGone` when the connection breaks first.
 */
export function readBody(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  from: () => string,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > BODY_MAX_BYTES) return Promise.reject(fieldError(1003, 'body'))
  return new Promise((resolve, reject) => {
    const held = holdBody(from)
    let body: Buffer | undefined
    let length = 0
    let pieces = 0
    let refused = false
    const refuse = (error: Error): void => {
      // What still comes is read and dropped, so that a caller that is busy sending gets to see the answer.
      refused = true
      body = undefined
      held.release()
      reject(error)
    }
    const take = (piece: Buffer): void => {
      if (refused) return
      length += piece.length
      pieces += 1
      if (length > BODY_MAX_BYTES) refuse(fieldError(1003, 'body'))
      else if (pieces > HTTP_BOUNDS.pieces_min + length / HTTP_BOUNDS.piece_bytes) {
        // Even to drop the rest would cost too much: the connection ends behind the answer.
        response.shouldKeepAlive = false
        refuse(fieldError(1003, 'body'))
      } else if (!held.take(piece.length)) refuse(new PublicError(2002))
      else if (pieces === 1 && piece.length === announced) body = piece
      else body = appended(body, length, piece)
    }
    request.on('data', take)
    request.on('end', () => {
      held.release()
      resolve(body?.subarray(0, length) ?? Buffer.alloc(0))
    })
    request.on('error', (cause) => refuse(new CallerGone('the connection broke', { cause })))
  })
}

/**
 * The body so far and one piece more. It is copied into one buffer that doubles: a piece by itself, however small,
 * keeps all of the 64 KiB that the socket read it into.
 */
function appended(body: Buffer | undefined, length: number, piece: Buffer): Buffer {
  let room = body
  if (room === undefined || room.length < length) {
    room = Buffer.allocUnsafeSlow(Math.max(PIECE_ROOM_BYTES, 2 * length))
    body?.copy(room)
  }
  piece.copy(room, length - piece.length)
  return room
}

const PIECE_ROOM_BYTES = 512

/** The caller broke off before its request was complete: there is nobody to answer and nothing was done. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'
}
