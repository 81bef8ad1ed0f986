import { Server as HttpServer, type ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { NetConnectOpts, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { StartError } from '#lib/base/start-error.ts'
import { clock, sleep } from '#lib/base/time.ts'

/** Where to listen. `variable` names the setting that chooses the port; error sentences show it. */
export interface Address {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly variable: string
  /** From its abort on, HTTP/1.1 answers say `Connection: close` while connections are still accepted (R5). */
  readonly draining?: AbortSignal | undefined
}

/** A server that accepts connections. */
export interface Listening {
  /** The port that it listens on; the one chosen by the system when 0 was asked for. */
  readonly port: number
  /** `host:port` for the URLs of clients: a server on all addresses is reached at loopback. */
  readonly host_and_port: string
  /** Accepts no new connection, gives requests in progress at most `grace_ms` to end, then closes all connections. */
  close(grace_ms?: number): Promise<void>
}

/** A network in memory, which simulation puts in the place of the machine's. */
export interface Network {
  /** Makes a server reachable at an address of the network. */
  listen(server: Server, address: Address): Promise<Listening>
  /** Opens a connection of bytes, such as that to the virus scanner. */
  connect(address: NetConnectOpts): Duplex
  /** Carries the requests of one HTTP client. */
  createDispatcher(): Pick<Dispatcher, 'dispatch' | 'destroy'>
  /** Returns the addresses of a host. */
  lookup(hostname: string): Promise<readonly string[]>
}

let replacement: Network | undefined

/** The network in memory, if this process is simulated; `undefined` in every real process. */
export function simulatedNetwork(): Network | undefined {
  return replacement
}

/** Replaces the network of this process, for simulation only, until the returned function is called. */
export function useNetwork(network: Network): () => void {
  replacement = network
  return () => {
    replacement = undefined
  }
}

const GRACE_MS = 5_000
const LOOK_AGAIN_MS = 25
/** The first request of a connection that was just accepted may still be on its way. */
const FIRST_BYTE_MS = 1_000

/** Starts to listen. Throws `StartError` when the port is taken or forbidden, or the host is not of this machine. */
export async function listen(server: Server, address: Address): Promise<Listening> {
  const network = simulatedNetwork()
  if (network !== undefined) return await network.listen(server, address)
  const close = trackConnections(server, address.draining)
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(explainListen(error, address))
    server.once('error', failed)
    server.listen({ host: address.host, port: address.port }, () => {
      server.removeListener('error', failed)
      resolve()
    })
  })
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : address.port
  return { port, host_and_port: formatHostAndPort(connectableHost(address.host), port), close }
}

/** The host at which clients of this machine reach a server: loopback for a server on all addresses. */
export function connectableHost(host: string): string {
  return WILDCARD_HOSTS[host] ?? host
}

/** Whether a server on this host accepts connections to all addresses of the machine. */
export function isWildcardHost(host: string): boolean {
  return Object.hasOwn(WILDCARD_HOSTS, host)
}

/** Hosts that stand for all addresses, which no client can connect to, with the loopback address of their family. */
const WILDCARD_HOSTS: Readonly<Record<string, string>> = {
  '0.0.0.0': '127.0.0.1',
  '0': '127.0.0.1',
  '::': '::1',
  '::0': '::1',
}

/** Formats host and port for a URL, with IPv6 addresses in brackets. */
export function formatHostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function explainListen(error: NodeJS.ErrnoException, { host, port, variable }: Address): Error {
  const place = formatHostAndPort(host, port)
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `${place} is used by another process: set ${variable} to a free port, or to 0 for any free port`,
    EACCES: `this user may not listen on ${place}: set ${variable} to a port above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: set MULTIHUB_HOST to one that is`,
    ENOTFOUND: `the host ${host} cannot be resolved: set MULTIHUB_HOST to an address of this machine`,
  }
  const reason = reasons[error.code ?? '']
  return reason === undefined ? error : new StartError(reason, { cause: error })
}

/**
 * Tracks the connections of a server and returns its `close`. Node's own `close` waits without limit for a
 * keep-alive connection whose request has just ended, and for a client that never finishes its request.
 */
function trackConnections(server: Server, draining?: AbortSignal): Listening['close'] {
  /** Each connection with the time at which it was accepted. */
  const sockets = new Map<Socket, number>()
  const pending = new Set<ServerResponse>()
  let ends_connections = false
  const endConnections = (): void => {
    ends_connections = true
    for (const response of pending) if (!response.headersSent) response.setHeader('connection', 'close')
  }
  if (draining?.aborted) endConnections()
  else draining?.addEventListener('abort', endConnections, { once: true })
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, clock.monotonic_ms())
    socket.once('close', () => sockets.delete(socket))
  })
  if (isHttp(server)) {
    server.prependListener('request', (_request, response) => {
      if (ends_connections) response.setHeader('connection', 'close')
      pending.add(response)
      response.once('close', () => pending.delete(response))
    })
  }
  return async (grace_ms = GRACE_MS) => {
    endConnections()
    draining?.removeEventListener('abort', endConnections)
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const deadline_ms = clock.monotonic_ms() + grace_ms
    while (sockets.size > 0 && clock.monotonic_ms() < deadline_ms) {
      if (isHttp(server)) server.closeIdleConnections()
      const silent_since_ms = clock.monotonic_ms() - FIRST_BYTE_MS
      for (const [socket, accepted_ms] of sockets)
        if (socket.bytesRead === 0 && accepted_ms <= silent_since_ms) socket.destroy()
      await sleep(LOOK_AGAIN_MS)
    }
    for (const socket of sockets.keys()) socket.destroy()
    await closed
  }
}

/** A whole response of a server that answers with short texts only. */
export interface TextResponse {
  readonly status: number
  readonly content_type: string
  readonly body: string
}

/** A response of one line. */
export function plain(status: number, text: string): TextResponse {
  return { status, content_type: 'text/plain', body: `${text}\n` }
}

/** Sends a whole response, which no cache keeps. */
export function sendText(response: ServerResponse, { status, content_type, body }: TextResponse): void {
  response.writeHead(status, { 'content-type': content_type, 'cache-control': 'no-store' })
  response.end(body)
}

function isHttp(server: Server): server is HttpServer | HttpsServer {
  return server instanceof HttpServer || server instanceof HttpsServer
}
