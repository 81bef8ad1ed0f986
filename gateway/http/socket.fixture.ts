import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { signedHeaders } from '../gateway.fixture.ts'
import { V1_PATH } from '../paths.ts'

/** The smallest valid request. */
export const PING = '{"method":"gateway.ping","params":{}}'

/** A request that a test can delay, because it calls another service. */
export const BALANCE = '{"method":"balance.get","params":{}}'

/** Changes to the head of a valid request. Header lines are sent as they are. */
export interface RequestHead {
  readonly header_lines?: readonly string[]
  readonly verb?: string
  readonly target?: string
  readonly version?: string
  readonly content_type?: string
  /** What is sent instead of the signed body. */
  readonly body_on_wire?: string
}

/** Renders a signed request. It has a content length unless a header line frames the body. */
export function requestText(body: string, head: RequestHead = {}): string {
  const {
    header_lines: lines = [],
    verb = 'POST',
    target = V1_PATH,
    version = 'HTTP/1.1',
    body_on_wire: sent = body,
  } = head
  const signed = { ...signedHeaders(body), 'content-type': head.content_type ?? 'application/json' }
  const is_framed = lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
  return [
    `${verb} ${target} ${version}`,
    'host: a',
    ...Object.entries(signed).map(([name, value]) => `${name}: ${value}`),
    ...(is_framed ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    ...lines,
    '',
    sent,
  ].join('\r\n')
}

/** One response. */
export interface SocketResponse {
  readonly http_status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The result of one connection. */
export interface SocketResult {
  readonly responses: readonly SocketResponse[]
  /** Whether the gateway closed the connection first. */
  readonly closed_by_gateway: boolean
}

/**
 * Sends bytes on a new connection and reads until the gateway closes it. After `count` responses, or at once for 0, it
 * ends its own side and still reads what follows. Throws when the gateway sent anything but responses.
 */
export async function sendBytes(
  app: FastifyInstance,
  bytes: string | Uint8Array,
  count = Number.POSITIVE_INFINITY,
): Promise<SocketResult> {
  const socket = connect({ port: portOf(app), host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  let ended = false
  let closed_by_gateway = false
  const done = Promise.withResolvers<void>()
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    if (ended || parseResponses(received).length < count) return
    ended = true
    socket.end()
  })
  socket.on('end', () => {
    closed_by_gateway = !ended
    socket.end()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => done.resolve())
  if (count === 0) socket.end(bytes)
  else socket.write(bytes)
  await done.promise
  const responses = parseResponses(received)
  const length = responses.reduce((sum, { length: one }) => sum + one, 0)
  if (length !== received.length)
    throw new Error(`not an HTTP response: ${JSON.stringify(received.slice(length))}`)
  return { responses, closed_by_gateway }
}

/** The port of a gateway. */
export function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address.port
}

/** The complete responses at the start of the received text. */
function parseResponses(received: string): (SocketResponse & { readonly length: number })[] {
  const responses: (SocketResponse & { readonly length: number })[] = []
  let at = 0
  for (;;) {
    const head_end = received.indexOf('\r\n\r\n', at)
    if (head_end < 0) return responses
    const [status_line = '', ...lines] = received.slice(at, head_end).split('\r\n')
    const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) /.exec(status_line)?.[1]
    if (status === undefined) return responses
    const headers = new Map(lines.map((line) => nameAndValue(line)))
    const body_end = head_end + 4 + Number(headers.get('content-length') ?? 0)
    if (received.length < body_end) return responses
    const body = Buffer.from(received.slice(head_end + 4, body_end), 'latin1').toString()
    responses.push({ http_status: Number(status), headers, body, length: body_end - at })
    at = body_end
  }
}

function nameAndValue(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}
