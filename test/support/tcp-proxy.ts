import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** The bytes that a relay passes: what clients send, or what the server sends. */
export type TcpDirection = 'to server' | 'to client'

/** A TCP relay in this process that a test can interrupt. */
export interface TcpProxy {
  readonly port: number
  /** Drops every connection and refuses new ones. */
  cut(): Promise<void>
  /** Holds back all bytes in these directions, by default in both. Connections remain open and new ones are accepted. */
  stall(directions?: readonly TcpDirection[]): void
  /**
   * Loses each client connection that sends `text` while `work` runs, like a firewall that forgets it. The server
   * still gets `text`, but nothing after it, and the client gets nothing more, also after `restore`. The connection
   * stays open, and all other connections go on.
   */
  loseConnectionsThatSend(text: string, work: () => Promise<unknown>): Promise<void>
  /** Ends `cut` or `stall`. Held-back bytes are sent. */
  restore(): Promise<void>
}

const BOTH: readonly TcpDirection[] = ['to server', 'to client']

/** Relays 127.0.0.1:`port` to one server, so that a test can interrupt the connection without touching the server. */
export async function startTcpProxy(host: string, server_port: number): Promise<TcpProxy> {
  const port = await freePort()
  const pairs = new Map<Socket, Socket>()
  let stalled: readonly TcpDirection[] = []
  const lost = new Set<Socket>()
  let watch: ((client: Socket) => void) | undefined
  const listener = createServer((client) => {
    const server = connect(server_port, host)
    pairs.set(client, server)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      // An error is followed by 'close', which also ends the other side.
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(client)
        lost.delete(client)
        client.destroy()
        server.destroy()
      })
    }
    join(
      client,
      server,
      BOTH.filter((direction) => !stalled.includes(direction)),
    )
    watch?.(client)
  })
  const listen = async (): Promise<void> => {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
  }
  await listen()
  return {
    port,
    async cut() {
      if (!listener.listening) return
      const closed = once(listener, 'close')
      listener.close()
      for (const client of pairs.keys()) client.resetAndDestroy()
      await closed
    },
    stall(directions = BOTH) {
      stalled = directions
      for (const [client, server] of pairs) separate(client, server, directions)
    },
    async loseConnectionsThatSend(text, work) {
      const watching = new Map<Socket, (bytes: Buffer) => void>()
      watch = (client) => {
        const onData = (bytes: Buffer): void => {
          const server = pairs.get(client)
          if (server === undefined || !bytes.includes(text)) return
          lost.add(client)
          separate(client, server, BOTH)
          // Both sides go on reading, or the loss would look like a slow network when the buffers are full.
          client.resume()
          server.resume()
        }
        watching.set(client, onData)
        client.on('data', onData)
      }
      for (const client of pairs.keys()) watch(client)
      try {
        await work()
      } finally {
        watch = undefined
        for (const [client, onData] of watching) client.off('data', onData)
      }
    },
    async restore() {
      if (!listener.listening) await listen()
      const held = stalled
      stalled = []
      for (const [client, server] of pairs) if (!lost.has(client)) join(client, server, held)
    },
  }
}

function separate(client: Socket, server: Socket, directions: readonly TcpDirection[]): void {
  if (directions.includes('to server')) client.unpipe(server)
  if (directions.includes('to client')) server.unpipe(client)
}

function join(client: Socket, server: Socket, directions: readonly TcpDirection[]): void {
  if (directions.includes('to server')) client.pipe(server)
  if (directions.includes('to client')) server.pipe(client)
}
