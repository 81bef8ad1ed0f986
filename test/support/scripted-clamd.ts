import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** A server in the place of clamd, which answers as a test says. */
export interface ScriptedClamd {
  /** For `MULTIHUB_SCANNER`. */
  readonly address: string
  readonly port: number
  /** The streams that it received completely, in order. */
  readonly received: readonly Buffer[]
  /** What happens with a connection: after the whole stream, or at once (`early`). */
  behave(act: (socket: Socket) => void, when?: 'early'): void
  /** Sets the response to the command VERSION. */
  setVersion(text: string): void
  close(): Promise<void>
}

/** The answer that makes a file ready. */
export const CLEAN = 'stream: OK\0'

/** Starts a server that finds every stream clean, and whose signatures are of today. */
export async function startScriptedClamd(): Promise<ScriptedClamd> {
  const received: Buffer[] = []
  const sockets = new Set<Socket>()
  let act: (socket: Socket) => void = (socket) => socket.end(CLEAN)
  let is_early = false
  let version = `ClamAV 1.4.3/27700/${new Date().toUTCString().replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 $4')}`
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    if (is_early) return act(socket)
    let bytes = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const command = bytes.toString('latin1', 0, COMMAND.length)
      if (command === 'zPING\0') return void socket.end('PONG\0')
      if (command === 'zVERSION\0') return void socket.end(`${version}\0`)
      const stream = streamIn(bytes)
      if (stream === undefined) return
      received.push(stream)
      act(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  return {
    address: `clamd://127.0.0.1:${port}`,
    port,
    received,
    behave(next, when) {
      act = next
      is_early = when === 'early'
    },
    setVersion(text) {
      version = text
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const COMMAND = 'zINSTREAM\0'

/** The content of a complete stream; `undefined` before its end. Throws for bytes that are not of the protocol. */
function streamIn(bytes: Buffer): Buffer | undefined {
  if (bytes.length < COMMAND.length) return undefined
  if (bytes.toString('latin1', 0, COMMAND.length) !== COMMAND) throw new Error('not INSTREAM')
  const chunks: Buffer[] = []
  for (let at = COMMAND.length; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return undefined
}
