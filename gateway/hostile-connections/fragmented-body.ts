import type { IncomingMessage, ServerResponse } from 'node:http'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { closeAfterResponse, closeLingering } from './lingering-close.ts'

/** Whether so many bytes came in more pieces than any honest sender makes of them: each costs far more than it weighs. */
export function isTooFragmented(pieces: number, length: number): boolean {
  return pieces > HTTP_LIMITS.body_fragments_min + length / HTTP_LIMITS.bytes_per_fragment
}

/**
 * Reads and drops the rest of a request that is answered already, so that a caller that is busy sending gets to see the
 * answer and its next request is found. Hangs up on one that sends crumbs.
 */
export function drainRequest(request: IncomingMessage, response: ServerResponse): void {
  let length = 0
  let pieces = 0
  const drop = (piece: Buffer): void => {
    length += piece.length
    pieces += 1
    if (!isTooFragmented(pieces, length)) return
    request.off('data', drop)
    closeAfterResponse(response)
  }
  request.on('data', drop)
  const { socket } = request
  // Behind an answer that says that it is the last, Node would close at once, and what still comes would reset it.
  socket.destroySoon = () => closeLingering(socket)
}
