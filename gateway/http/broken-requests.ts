import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PublicError } from '#lib/errors/public-error.ts'
import { uuidv7 } from '#lib/ids.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { clock } from '#lib/time.ts'
import { failureText } from './envelope.ts'

/** What is not HTTP, has too large a head, or comes too slowly never becomes a request: it is answered here. */
export interface BrokenRequests {
  /** To be told of every request, so that nothing is written between the answers that are still due. */
  began(request: IncomingMessage, response: ServerResponse): void
  /** Takes what the server calls a client error. */
  handle(error: NodeJS.ErrnoException, socket: Socket): void
}

interface Connection {
  unanswered: number
  last: IncomingMessage
  answered(): void
}

/** How long a refused caller may take to read the answer: a connection closed with unread bytes is reset. */
const LINGER_MS = 1000

/**
 * Answers a broken request with the envelope (1003) and ends the connection, for nobody knows where the next request
 * would begin. If whole requests before it are still unanswered, they are, and then the connection just ends.
 */
export function createBrokenRequests(log: Log): BrokenRequests {
  const connections = new WeakMap<Socket, Connection>()
  return {
    began(request, response) {
      const known = connections.get(request.socket)
      const connection = known ?? { unanswered: 0, last: request, answered: () => {} }
      if (known === undefined) connections.set(request.socket, connection)
      connection.unanswered += 1
      connection.last = request
      response.once('close', () => {
        connection.unanswered -= 1
        connection.answered()
      })
    },
    handle(error, socket) {
      log.info({ code: 1003, reason: error.code }, 'a connection brought no valid request')
      if (!socket.writable) return void socket.destroy()
      const connection = connections.get(socket)
      if (connection === undefined) return end(socket, envelope())
      const broken = connection.last.complete ? 0 : 1
      if (connection.unanswered <= broken) return end(socket, envelope())
      connection.answered = () => {
        if (connection.unanswered <= broken) end(socket, '')
      }
    },
  }
}

function end(socket: Socket, text: string): void {
  socket.end(text)
  socket.resume()
  const linger = clock.after(LINGER_MS, () => socket.destroy())
  socket.once('close', () => linger.cancel())
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
