import type { IncomingMessage, ServerResponse } from 'node:http'
import { clock } from '#lib/base/time.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { closeAfterResponse, closeLingering } from './lingering-close.ts'

/**
 * Whether a body of `bytes` arrived in more fragments than any legitimate client sends. A fragment of one byte costs as
 * much processor time as one of a thousand.
 */
export function isTooFragmented(fragments: number, bytes: number): boolean {
  return fragments > HTTP_LIMITS.body_fragments_base + bytes / HTTP_LIMITS.bytes_per_fragment
}

/**
 * Reads and discards the rest of a request that is already answered. So a client that is still sending can read the
 * response, and the next request on the connection is found. Closes the connection when the rest is too fragmented, or not
 * complete after `request_timeout_ms`.
 */
export function drainRequest(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0
  let fragments = 0
  // The response was sent long ago, so a caller that is still sending has had the time to read it.
  const timeout = clock.after(HTTP_LIMITS.request_timeout_ms, () => request.destroy())
  const cancel = (): void => timeout.cancel()
  request.once('end', cancel).once('close', cancel)
  const discard = (fragment: Buffer): void => {
    bytes += fragment.length
    fragments += 1
    if (!isTooFragmented(fragments, bytes)) return
    request.off('data', discard)
    closeAfterResponse(response)
  }
  request.on('data', discard)
  const { socket } = request
  // After a response with `Connection: close` Node calls this. Its own version closes at once, and bytes that arrive
  // later would reset the connection.
  socket.destroySoon = () => closeLingering(socket)
}
