import type { IncomingMessage, ServerResponse } from 'node:http'
import { HTTP_BOUNDS } from '../http/bounds.ts'
import { hangUp, linger } from './linger.ts'

/** Whether so many bytes came in more pieces than any honest sender makes of them: each costs far more than it weighs. */
export function areCrumbs(pieces: number, length: number): boolean {
  return pieces > HTTP_BOUNDS.pieces_min + length / HTTP_BOUNDS.piece_bytes
}

/**
 * Reads and drops the rest of a request that is answered already, so that a caller that is busy sending gets to see the
 * answer and its next request is found. Hangs up on one that sends crumbs.
 */
export function dropRest(request: IncomingMessage, response: ServerResponse): void {
  let length = 0
  let pieces = 0
  const drop = (piece: Buffer): void => {
    length += piece.length
    pieces += 1
    if (!areCrumbs(pieces, length)) return
    request.off('data', drop)
    hangUp(response)
  }
  request.on('data', drop)
  const { socket } = request
  // Behind an answer that says that it is the last, Node would close at once, and what still comes would reset it.
  socket.destroySoon = () => linger(socket)
}
