import { IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** A request on the wire. */
export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Whether the connection breaks after these bytes, which are not the whole body. */
  readonly is_cut?: boolean
}

/** A response on the wire. Header names are lower case. */
export interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The connection of one request: it collects what the server writes. */
class Connection extends Duplex {
  readonly remoteAddress = '198.51.100.7'
  readonly written: Buffer[] = []
  bytesRead = 0

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written.push(chunk)
    done()
  }

  setTimeout(): this {
    return this
  }

  resetAndDestroy(): this {
    return this.destroy()
  }
}

/**
 * Gives a request to a server of Node and resolves with its response, as bytes that the server wrote. Resolves with
 * `undefined` when the server closes the connection without a response.
 */
export function serveInMemory(server: Server, request: WireRequest): Promise<WireResponse | undefined> {
  const connection = new Connection()
  // The server uses only what `Connection` has.
  const incoming = new IncomingMessage(connection as unknown as Socket)
  const headers = { host: 'simulated', 'content-length': String(request.body.length), ...request.headers }
  incoming.method = request.method
  incoming.url = request.path
  incoming.httpVersion = '1.1'
  incoming.httpVersionMajor = 1
  incoming.httpVersionMinor = 1
  incoming.rawHeaders = Object.entries(headers).flat()
  incoming.headers = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const response = new ServerResponse(incoming)
  // The date header would come from the clock of the machine.
  response.sendDate = false
  response.assignSocket(connection as unknown as Socket)
  const { promise, resolve } = Promise.withResolvers<WireResponse | undefined>()
  response.on('finish', () => {
    response.detachSocket(connection as unknown as Socket)
    response.emit('close')
    resolve(parseResponse(Buffer.concat(connection.written)))
  })
  connection.on('close', () => resolve(undefined))
  for (const listener of server.listeners('request')) (listener as RequestListener)(incoming, response)
  if (request.body.length > 0) incoming.push(request.body)
  if (request.is_cut) {
    // Destroying it at once would also destroy what was pushed.
    process.nextTick(() => incoming.destroy(new Error('the connection broke')))
    return promise
  }
  incoming.complete = true
  incoming.push(null)
  return promise
}

function parseResponse(bytes: Buffer): WireResponse {
  const end = bytes.indexOf('\r\n\r\n')
  const [status_line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return {
    status: Number(status_line.split(' ')[1]),
    headers: Object.fromEntries(headers),
    body:
      Object.fromEntries(headers)['transfer-encoding'] === 'chunked'
        ? joinChunks(bytes, end + 4)
        : bytes.subarray(end + 4),
  }
}

function joinChunks(bytes: Buffer, start: number): Buffer {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const line_end = bytes.indexOf('\r\n', at)
    const length = Number.parseInt(bytes.toString('latin1', at, line_end), 16)
    if (!(length > 0)) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(line_end + 2, line_end + 2 + length))
    at = line_end + length + 4
  }
}
