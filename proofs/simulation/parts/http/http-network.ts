import { Server as HttpServer } from 'node:http'
import type { Dispatcher } from 'undici'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StreamHandler } from '#lib/http/internal-link.ts'
import { formatHostAndPort, type Network } from '#lib/http/network.ts'
import type { Partitions } from '../partitions.ts'
import type { Choices } from '../random.ts'
import type { Machine, SimulatedProcess } from '../simulated-process.ts'
import type { Trace } from '../trace.ts'
import { serveInMemory, type WireRequest, type WireResponse } from './serve-in-memory.ts'

/** What can go wrong with HTTP requests, as probabilities. */
interface HttpFaults {
  /** The connection is refused, so nothing was sent. */
  refused: number
  /** The request is lost after it was sent, or its response is. */
  lost_request: number
  lost_response: number
  /** A request from one process to another one arrives again. The second response is lost. */
  repeated: number
  late: number
  late_max_ms: number
}

/** A server of the world around the processes. `undefined` closes the connection without a response. */
type WireHandler = (request: WireRequest) => Promise<WireResponse | undefined>

/** Carries HTTP requests, and resolves every name to a public address. */
export interface HttpNetwork extends Network {
  readonly faults: HttpFaults
  /** The origins to which no connection opens now. */
  readonly down: Set<string>
  /** Adds a server that is not part of the system, by its origin. */
  addServer(origin: string, handler: WireHandler): void
  /** Makes an origin lead to one of several origins, as a load balancer does. */
  addBalancer(origin: string, servers: readonly string[]): void
  /** Sends a request from outside every process. Throws `WireFailure` when no response arrives in time. */
  request(origin: string, request: WireRequest, timeout_ms: number): Promise<WireResponse>
  /** Sends the streams of the process that calls it to an origin. Each body travels as a whole, or breaks off. */
  streamTo(origin: string): StreamHandler
  /** Breaks the connections to the servers of a process that ended. */
  closeServersOf(process: SimulatedProcess): void
}

/** No response: `refused` before anything was sent, otherwise the server may have acted. */
class WireFailure extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

interface WireServer {
  readonly process: SimulatedProcess | undefined
  readonly handler: WireHandler
  readonly breaks: Set<() => void>
}

/** What happens to one request, as its client sees it. */
interface RequestEvents {
  onSent(): void
  onResponse(response: WireResponse): void
  onFailure(error: WireFailure): void
}

/** The probability that a client notices that a connection is broken. */
const NOTICED = 0.7

/** The servers of a network, by their origins. */
interface ServerRegistry {
  add(origin: string, process: SimulatedProcess | undefined, handler: WireHandler): WireServer
  /** Makes an origin lead to others. */
  balance(origin: string, targets: readonly string[]): void
  /** The server of an origin: for a balancer, one of those that exist. */
  choose(origin: string): WireServer | undefined
  /** Breaks the connections of a server. */
  remove(server: WireServer): void
  ofProcess(process: SimulatedProcess): readonly WireServer[]
}

function createServerRegistry(choices: Choices): ServerRegistry {
  const servers = new Map<string, WireServer>()
  const balancers = new Map<string, readonly string[]>()
  return {
    add(origin, process, handler) {
      const server = { process, handler, breaks: new Set<() => void>() }
      servers.set(origin, server)
      return server
    },
    balance: (origin, targets) => void balancers.set(origin, targets),
    choose(origin) {
      const balanced = balancers.get(origin)?.filter((target) => servers.has(target)) ?? []
      return servers.get(balanced.length > 0 ? choices.pick(balanced) : origin)
    },
    remove(server) {
      for (const [origin, registered] of servers) if (registered === server) servers.delete(origin)
      for (const breakConnection of server.breaks) breakConnection()
    },
    ofProcess: (process) => [...servers.values()].filter((server) => server.process === process),
  }
}

/** What is outside the HTTP network. */
interface HttpSurroundings {
  /** Called when a request is sent, as code of its sender. */
  readonly onRequest: (request: WireRequest, origin: string) => void
  /** Opens the connections of bytes, from processes to the virus scanner. */
  readonly connect: Network['connect']
  readonly partitions: Pick<Partitions, 'isCut'>
}

const NO_FAULTS: HttpFaults = {
  refused: 0,
  lost_request: 0,
  lost_response: 0,
  repeated: 0,
  late: 0,
  late_max_ms: 0,
}

/** Makes a network without faults. */
export function createHttpNetwork(
  machine: Machine,
  choices: Choices,
  trace: Trace,
  { onRequest, connect, partitions }: HttpSurroundings,
): HttpNetwork {
  const servers = createServerRegistry(choices)
  const faults: HttpFaults = { ...NO_FAULTS }
  const down = new Set<string>()
  const { scheduler } = machine

  const delayMs = (): number =>
    choices.chance(faults.late) ? choices.between(1, faults.late_max_ms) : choices.between(0.1, 2)
  const later = (process: SimulatedProcess | undefined, action: () => void): void =>
    void machine.schedule(process, scheduler.now_ms() + delayMs(), action)

  function send(origin: string, request: WireRequest, events: RequestEvents): void {
    const client = machine.current()
    onRequest(request, origin)
    const server = servers.choose(origin)
    const name = `http ${client?.name ?? 'outside'} ${request.method} ${server?.process?.name ?? origin}${request.path}`
    const fail = (code: string): void =>
      later(client, () => {
        trace.add(`${name}: ${code}`)
        server?.breaks.delete(breakConnection)
        events.onFailure(new WireFailure(code))
      })
    const breakConnection = (): void => {
      if (choices.chance(NOTICED)) fail('ECONNRESET')
    }
    if (server === undefined || down.has(origin) || choices.chance(faults.refused)) {
      fail('ECONNREFUSED')
      return
    }
    later(client, () => {
      events.onSent()
      trace.add(name)
      server.breaks.add(breakConnection)
      if (partitions.isCut(client, server.process)) return
      if (choices.chance(faults.lost_request)) return breakConnection()
      if (client && server.process && choices.chance(faults.repeated)) repeat(server, request)
      later(server.process, () => {
        void server.handler(request).then((response) => {
          if (partitions.isCut(server.process, client)) return
          if (response === undefined || choices.chance(faults.lost_response)) return breakConnection()
          later(client, () => {
            server.breaks.delete(breakConnection)
            trace.add(`${name}: ${response.status} ${response.body.length}`)
            events.onResponse(response)
          })
        })
      })
    })
  }

  /** Hands a request to its server again, later than the first time. */
  function repeat(server: WireServer, request: WireRequest): void {
    const at_ms = scheduler.now_ms() + choices.between(2, choices.pick([10, 1_000]))
    machine.schedule(server.process, at_ms, () => void server.handler(request))
  }

  return {
    faults,
    down,
    addServer: (origin, handler) => void servers.add(origin, undefined, handler),
    addBalancer: servers.balance,
    request(origin, request, timeout_ms) {
      const { promise, resolve, reject } = Promise.withResolvers<WireResponse>()
      const timeout = machine.clock.after(timeout_ms, () => reject(new WireFailure('ETIMEDOUT')))
      send(origin, request, { onSent: () => {}, onResponse: resolve, onFailure: reject })
      return promise.finally(() => timeout.cancel())
    },
    connect,
    streamTo: (origin) => streamOver((request, events) => send(origin, request, events)),
    closeServersOf(process) {
      for (const server of servers.ofProcess(process)) servers.remove(server)
    },
    async listen(server, { host, port }) {
      if (!(server instanceof HttpServer)) throw new TypeError('only HTTP servers are simulated')
      const host_and_port = formatHostAndPort(host, port)
      const origin = `http://${host_and_port}`
      const added = servers.add(origin, machine.current(), (request) => serveInMemory(server, request))
      return { port, host_and_port, close: async () => servers.remove(added) }
    },
    createDispatcher: () => createDispatcher(send),
    lookup: async () => ['93.184.215.14'],
  }
}

function createDispatcher(
  send: (origin: string, request: WireRequest, events: RequestEvents) => void,
): ReturnType<Network['createDispatcher']> {
  return {
    dispatch({ origin, path, method, headers, body }, handler) {
      const request = {
        method,
        path,
        headers: { ...headers } as Record<string, string>,
        body: bytesOf(body),
      }
      dispatch((events) => send(String(origin), request, events), handler)
      return true
    },
    destroy: async () => {},
  }
}

/** Calls the handler of undici for the events of one request, until it aborts. */
function dispatch(start: (events: RequestEvents) => void, handler: Dispatcher.DispatchHandler): void {
  let abort_reason: Error | undefined
  const controller = {
    get aborted() {
      return abort_reason !== undefined
    },
    get reason() {
      return abort_reason ?? null
    },
    paused: false,
    pause: () => {},
    resume: () => {},
    abort(reason: Error) {
      abort_reason ??= reason
    },
  } as unknown as Dispatcher.DispatchController
  const unlessAborted = (action: () => void): void => {
    if (abort_reason === undefined) action()
  }
  start({
    onSent: () => unlessAborted(() => handler.onRequestStart?.(controller, {})),
    onResponse: ({ status, headers, body }) =>
      unlessAborted(() => {
        handler.onResponseStart?.(controller, status, { ...headers })
        if (body.length > 0) handler.onResponseData?.(controller, body)
        handler.onResponseEnd?.(controller, {})
      }),
    onFailure: (error) => unlessAborted(() => handler.onResponseError?.(controller, error)),
  })
}

function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array()
}

/** Sends one request. */
type SendRequest = (request: WireRequest, events: RequestEvents) => void

/** Sends streams as whole requests. A body that breaks off at its sender breaks off at the other side too. */
function streamOver(send: SendRequest): StreamHandler {
  return async ({ method, path, headers = {}, body, signal }) => {
    const wire = { method, path, headers, ...(await collect(body)) }
    const { promise, resolve, reject } = Promise.withResolvers<WireResponse>()
    signal.addEventListener('abort', () => reject(new Error('the exchange was ended')))
    send(wire, { onSent: () => {}, onResponse: resolve, onFailure: reject })
    try {
      const response = await promise
      return { ...response, body: only(response.body) }
    } catch (cause) {
      throw new Unavailable('the other process gave no response to a stream', { cause })
    }
  }
}

/** The bytes of a body, as far as they come. */
async function collect(
  body: AsyncIterable<Uint8Array> | undefined,
): Promise<Pick<WireRequest, 'body' | 'is_cut'>> {
  const chunks: Uint8Array[] = []
  let is_cut = false
  try {
    for await (const chunk of body ?? []) chunks.push(chunk)
  } catch {
    is_cut = true
  }
  return { body: Buffer.concat(chunks), is_cut }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
