import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { uuidv7 } from '#lib/base/ids.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { ExchangeLog } from './exchange-log.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { closeLingering } from './lingering-close.ts'
import { failureText } from './response.ts'

/** Answers bytes that never become a request: invalid HTTP, a head that is too large, a request that is too slow. */
export type InvalidRequestHandler = ReturnType<typeof createInvalidRequestHandler>

/** The code of a request whose head or body has not arrived in its time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT'

/** The requests of one connection. Completed responses are removed: keeping them would slow the garbage collector. */
interface ConnectionState {
  /** Responses that are not sent completely, in the order of their requests. */
  readonly pending: ServerResponse[]
  /** The newest request, if its response was sent before its body had arrived completely. */
  incomplete_request: IncomingMessage | undefined
  /** How many requests have begun. */
  requests: number
}

/**
 * Makes the handler. It answers invalid bytes with the envelope of 1003 and closes the connection, because the start of
 * the next request is unknown. The responses of earlier, complete requests are sent first. Invalid bytes in the body of a
 * request that already has its response get no second one.
 */
export function createInvalidRequestHandler(log: Pick<ExchangeLog, 'logInvalid'>) {
  const connections = new WeakMap<Socket, ConnectionState>()
  const refused = new WeakSet<Socket>()
  // One listener for all responses: a closure for each would cost every request.
  function removePending(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection === undefined) return
    connection.pending.splice(connection.pending.indexOf(this), 1)
    if (connection.pending.length === 0 && !this.req.complete) connection.incomplete_request = this.req
  }
  const refuse = (reason: string | undefined, socket: Socket): void => {
    if (refused.has(socket)) return
    refused.add(socket)
    const { pending = [], incomplete_request } = connections.get(socket) ?? {}
    const newest_response = pending.at(-1)
    const newest_request = newest_response?.req ?? incomplete_request
    // Invalid bytes after an incomplete request are part of its body; otherwise they are a request of their own.
    const is_body_invalid = newest_request?.complete === false
    const has_response = is_body_invalid && (newest_response === undefined || newest_response.headersSent)
    // The refusal takes the place of a pending response to the request with the invalid body: do not wait for that one.
    const response_to_wait_for = pending.at(is_body_invalid && !has_response ? -2 : -1)
    const request_id = uuidv7()
    log.logInvalid(request_id, socket.remoteAddress, reason)
    const text = has_response ? '' : refusalText(request_id)
    if (response_to_wait_for === undefined) closeDiscarding(socket, text)
    else response_to_wait_for.once('close', () => closeDiscarding(socket, text))
  }
  /**
   * Refuses a request that is too slow, unless the rest of it is there already: after a pause of this process Node.js finds the time
   * over before it reads what arrived meanwhile.
   */
  const refuseUnlessArrived = async (socket: Socket): Promise<void> => {
    const { pending = [], incomplete_request, requests } = connections.get(socket) ?? {}
    const newest = pending.at(-1)?.req ?? incomplete_request
    const was_complete = newest?.complete
    // One turn may be in progress; the next one reads.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    const has_arrived = connections.get(socket)?.requests !== requests || newest?.complete !== was_complete
    if (!has_arrived) refuse(TOO_SLOW, socket)
  }
  return {
    /**
     * Records the pending response of every request. `false` when the connection already has too many pending responses:
     * then the connection is closed and the request must be ignored.
     */
    trackRequest(request: IncomingMessage, response: ServerResponse): boolean {
      const connection = connections.get(request.socket)
      if (connection !== undefined && connection.pending.length >= HTTP_LIMITS.pending_responses_max) {
        // Requests that were parsed already would stay in memory until the client reads its responses.
        request.socket.destroy()
        return false
      }
      // Node drops the bytes after a request with the header Upgrade, so the connection cannot continue.
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
      if (connection === undefined)
        connections.set(request.socket, { pending: [response], incomplete_request: undefined, requests: 1 })
      else {
        connection.requests += 1
        connection.pending.push(response)
        connection.incomplete_request = undefined
      }
      response.on('close', removePending)
      return true
    },
    /** Handles a `clientError` of the server. */
    handleClientError({ code }: NodeJS.ErrnoException, socket: Socket): void {
      if (code === TOO_SLOW) void refuseUnlessArrived(socket)
      else refuse(code, socket)
    },
    /** Handles a CONNECT request; the server has already detached its parser from the connection. */
    refuseTunnel(socket: Socket): void {
      socket.on('error', () => socket.destroy())
      refuse('CONNECT', socket)
    },
  }
}

/** Closes the connection after a text. Bytes that still arrive are discarded, so that a sending peer can read the text. */
function closeDiscarding(socket: Socket, text: string): void {
  closeLingering(socket, text)
  socket.resume()
}

/** A complete HTTP response with the envelope of 1003. */
function refusalText(request_id: string): string {
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
