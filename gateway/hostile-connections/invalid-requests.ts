import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { failureText } from '../http/envelope.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { closeLingering } from './lingering-close.ts'

/** What is not HTTP, has too large a head, or comes too slowly never becomes a request: it is answered here. */
export interface InvalidRequestHandler {
  /**
   * To be told of every request, so that nothing is written between the answers that are still due. `false` when too many
   * are: then it is not taken, and the connection is closed.
   */
  trackRequest(request: IncomingMessage, response: ServerResponse): boolean
  /** Takes what the server calls a client error. */
  handleClientError(error: NodeJS.ErrnoException, socket: Socket): void
  /** Takes a request for a tunnel: the server has let go of its connection. */
  refuseTunnel(socket: Socket): void
}

/** Where a connection is. It holds on to no answer that is over: what many connections held would slow the collector. */
interface Connection {
  /** The answers that are not over yet, in their order. */
  readonly due: ServerResponse[]
  /** The newest request, if it was refused before its end came. */
  cut_short: IncomingMessage | undefined
}

/**
 * Answers a broken request with the envelope (1003) and ends the connection, for nobody knows where the next request
 * would begin. Whole requests before it are answered first. A request that was refused before its end came is not
 * answered again: then the connection just ends.
 */
export function createInvalidRequestHandler(log: Log): InvalidRequestHandler {
  const connections = new WeakMap<Socket, Connection>()
  const refused = new WeakSet<Socket>()
  // One for all answers: a function of its own for each would cost every request.
  function over(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection === undefined) return
    connection.due.splice(connection.due.indexOf(this), 1)
    if (connection.due.length === 0 && !this.req.complete) connection.cut_short = this.req
  }
  const refuse = (reason: string | undefined, socket: Socket): void => {
    if (refused.has(socket)) return
    refused.add(socket)
    log.info({ code: 1003, reason }, 'a connection brought no valid request')
    const { due, cut_short } = connections.get(socket) ?? { due: [], cut_short: undefined }
    const newest = due.at(-1)
    const is_part = (newest?.req ?? cut_short)?.complete === false
    const is_told = is_part && (newest === undefined || newest.headersSent)
    const before = due.at(is_part && !is_told ? -2 : -1)
    const text = is_told ? '' : envelope()
    if (before === undefined) end(socket, text)
    else before.once('close', () => end(socket, text))
  }
  return {
    trackRequest(request, response) {
      const connection = connections.get(request.socket)
      if (connection !== undefined && connection.due.length >= HTTP_LIMITS.pending_responses_max) {
        // What was parsed with it would wait in memory for as long as the answers are not read.
        request.socket.destroy()
        return false
      }
      // What came behind an offer to change the protocol is lost, so that the connection cannot go on.
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
      if (connection === undefined) connections.set(request.socket, { due: [response], cut_short: undefined })
      else {
        connection.due.push(response)
        connection.cut_short = undefined
      }
      response.on('close', over)
      return true
    },
    handleClientError: (error, socket) => refuse(error.code, socket),
    refuseTunnel(socket) {
      socket.on('error', () => socket.destroy())
      refuse('CONNECT', socket)
    },
  }
}

/** What still comes meanwhile is read and dropped, so that a peer that is busy sending gets to see the text. */
function end(socket: Socket, text: string): void {
  closeLingering(socket, text)
  socket.resume()
}

function envelope(): string {
  const request_id = uuidv7()
  const body = failureText(new PublicError(1003), request_id, 0)
  return [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-ID: ${request_id}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
