import { createServer, type Socket } from 'node:net'
import { type Listening, listen } from '#lib/http/network.ts'
import { eventually } from './eventually.ts'

/** A server on a free port that writes raw bytes. */
export interface HostileServer {
  readonly url: string
  /** How many requests it has read. */
  requests(): number
  /** Resolves when it has read this number of requests. */
  read(count: number): Promise<unknown>
  close: Listening['close']
}

/** Starts a hostile server. Each connection is passed to `speak` when a request was read. */
export async function startHostileServer(speak: (socket: Socket) => void): Promise<HostileServer> {
  let requests = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      requests += 1
      speak(socket)
    })
  })
  const { host_and_port, close } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
  return {
    url: `http://${host_and_port}/`,
    requests: () => requests,
    read: (count) =>
      eventually(
        async () => requests,
        (seen) => seen === count,
      ),
    close,
  }
}

/** Writes `piece` as fast as the other side reads, until the connection ends. */
export function pour(socket: Socket, piece: string, first = ''): void {
  socket.write(first)
  while (!socket.destroyed && socket.write(piece)) {}
  socket.once('drain', () => pour(socket, piece))
}
