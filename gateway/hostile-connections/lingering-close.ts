import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '#lib/platform/time.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'

/**
 * Ends our side of a connection behind a last text, and all of it a moment later: closed at once with bytes that nobody
 * read, it would be reset, and with that the peer could lose what it was told.
 */
export function closeLingering(socket: Socket, text = ''): void {
  if (!socket.writable) return void socket.destroy()
  socket.end(text)
  const late = clock.after(HTTP_LIMITS.lingering_close_ms, () => socket.destroy())
  socket.once('close', () => late.cancel())
}

/**
 * Reads nothing more from the connection of an answer, and ends it gently behind that answer. For peers whose bytes cost
 * more than they are worth, even to drop.
 */
export function closeAfterResponse(response: ServerResponse): void {
  const { socket } = response.req
  // Only a listener takes Node's parser off a connection; from then on the bytes stay where they are.
  socket.on('data', nothing).removeAllListeners('data').pause()
  const leave = (): void => {
    if (!socket.writableEnded) closeLingering(socket)
  }
  // Behind an answer that says that it is the last, Node would call this and close at once.
  socket.destroySoon = leave
  response.shouldKeepAlive = false
  if (response.writableFinished) leave()
  else response.once('close', leave)
}

function nothing(): void {}
