import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A header as written: name and value, one byte per character. */
export type Header = readonly [name: string, value: string]

/** A request as it is sent. */
export interface RawRequest {
  readonly verb: string
  readonly target: string
  readonly headers: readonly Header[]
  readonly body: Buffer
  /** Sends the body in chunks of this size instead of with a content length. */
  readonly chunk_bytes?: number
}

/** A response as received. */
export interface RawResponse {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Buffer
}

/** A keep-alive connection that reconnects when the server has closed it. One exchange at a time. */
export interface Connection {
  exchange(wire: RawRequest): Promise<RawResponse>
  close(): void
}

const RESPONSE_LIMIT_MS = 100_000

/** The value of a response header; `undefined` if it is missing or repeated. `name` is lower case. */
export function headerOf({ headers }: RawResponse, name: string): string | undefined {
  const found = headers.filter(([sent]) => sent.toLowerCase() === name)
  return found.length === 1 ? found[0]?.[1] : undefined
}

/** The bytes of a request. */
export function bytesOf({ verb, target, headers, body, chunk_bytes }: RawRequest): Buffer {
  const framing: Header =
    chunk_bytes === undefined ? ['Content-Length', String(body.length)] : ['Transfer-Encoding', 'chunked']
  const lines = ['Host: 127.0.0.1', ...[...headers, framing].map(([name, value]) => `${name}: ${value}`)]
  const head = Buffer.from(`${verb} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat([head, chunk_bytes === undefined ? body : chunked(body, chunk_bytes)])
}

function chunked(body: Buffer, chunk_bytes: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += chunk_bytes) {
    const chunk = body.subarray(at, at + chunk_bytes)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

/** Makes a connection to a local port. It opens with the first exchange. */
export function createConnection(port: number): Connection {
  let socket: Socket | undefined
  const open = async (): Promise<Socket> => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true })
    opened.setTimeout(RESPONSE_LIMIT_MS, () => opened.destroy(new Error('no response in time')))
    await once(opened, 'connect')
    // An exchange in progress has its own listener. Between two exchanges the next one reconnects.
    opened.on('error', () => {})
    return opened
  }
  return {
    async exchange(wire) {
      if (socket === undefined || socket.destroyed) socket = await open()
      const response = await exchangeOver(socket, bytesOf(wire))
      if (headerOf(response, 'connection')?.toLowerCase() === 'close') {
        socket.destroy()
        socket = undefined
      }
      return response
    },
    close: () => socket?.destroy(),
  }
}

function exchangeOver(socket: Socket, bytes: Buffer): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    let received = Buffer.of()
    const settle = (finish: () => void): void => {
      for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener)
      finish()
    }
    const listeners = {
      data: (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk])
        try {
          const response = parseResponse(received)
          if (response !== undefined) settle(() => resolve(response))
        } catch (error) {
          settle(() => reject(error))
        }
      },
      error: (error: Error): void => settle(() => reject(error)),
      close: (): void => settle(() => reject(new Error('the connection was closed without a response'))),
    }
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener)
    socket.write(bytes)
  })
}

/** Parses the first complete response that is not an interim one (1xx). Throws for other bytes, also after the response. */
function parseResponse(received: Buffer): RawResponse | undefined {
  const head_end = received.indexOf('\r\n\r\n')
  if (head_end < 0) return undefined
  const [status_line = '', ...lines] = received.subarray(0, head_end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) /.exec(status_line)?.[1])
  if (Number.isNaN(status)) throw new Error(`not a status line: ${status_line}`)
  const after_head = received.subarray(head_end + 4)
  if (status < 200) return parseResponse(after_head)
  const headers = lines.map((line): Header => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const announced = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
  if (announced === undefined) throw new Error('a response without a content length')
  const length = Number(announced)
  if (after_head.length < length) return undefined
  if (after_head.length > length) throw new Error('bytes after the response')
  return { status, headers, body: after_head }
}
