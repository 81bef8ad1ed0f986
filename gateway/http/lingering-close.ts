import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '#lib/base/time.ts'
import { HTTP_LIMITS } from './http-limits.ts'

/**
 * Ends our side of a connection after `last_text`, and destroys the connection `lingering_close_ms` later.
 *
 * A connection that is closed with unread bytes is reset, and the reset can destroy the response before the peer reads it.
 */
export function closeLingering(socket: Socket, last_text = ''): void {
  if (!socket.writable) return void socket.destroy()
  socket.end(last_text)
  const timeout = clock.after(HTTP_LIMITS.lingering_close_ms, () => socket.destroy())
  socket.once('close', () => timeout.cancel())
}

/**
 * Stops reading from the connection of a response, and closes it with `closeLingering` once the response is sent. For
 * peers whose bytes cost too much even to discard.
 */
export function closeAfterResponse(response: ServerResponse): void {
  const { socket } = response.req
  // Adding a listener detaches Node's parser from the socket; then the bytes stay in the kernel.
  socket.on('data', ignore).removeAllListeners('data').pause()
  const close = (): void => {
    if (!socket.writableEnded) closeLingering(socket)
  }
  // After a response with `Connection: close` Node calls this. Its own version closes at once.
  socket.destroySoon = close
  response.shouldKeepAlive = false
  if (response.writableFinished) close()
  else response.once('close', close)
}

function ignore(): void {}
