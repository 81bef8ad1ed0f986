import { clock, withTimeout } from '#lib/base/time.ts'
import type { AddressPolicy } from './address-policy.ts'
import { createConnect } from './connect.ts'
import { createConnectionPool } from './connection-pool.ts'
import { HttpFailure } from './http-failure.ts'
import { simulatedNetwork } from './network.ts'
import { createOpenConnection, type OpenConnection } from './open-connection.ts'
import { createHostResolver, type ResolveHost } from './resolve-host.ts'
import { type HttpRequest, type HttpResponse, sendRequest } from './send-request.ts'

/** The policy and the limits of a client. */
export interface HttpClientOptions {
  /** Which IP addresses may be connected to, for every host name. */
  readonly allow: AddressPolicy
  /** Connections to one origin; further requests wait for one. 64 unless given. */
  readonly connections_per_origin?: number
  /** Requests to all origins; a request beyond it fails at once as `busy`. 10,000 unless given. */
  readonly in_progress_max?: number
  /** Limits the lookup, the connection and the TLS handshake together. 0: only the time limit of the request. */
  readonly connect_timeout_ms?: number
  /** How long an idle connection stays open for the next request; 0 closes it at once. At most 10 s. */
  readonly keep_alive_ms?: number
  readonly resolve?: ResolveHost
}

/** The only way by which this system sends HTTP requests. */
export interface HttpClient {
  /**
   * Sends a request at most once, or twice if it `is_repeatable`; see `HttpRequest` for the limits. Throws `HttpFailure`, or what `createHeaders` throws.
   */
  request(request: HttpRequest): Promise<HttpResponse>
  /** Waits up to 2 s for running requests, then closes every connection. */
  close(): Promise<void>
}

/** No connection lives longer, so that changes of DNS and of the address policy take effect. */
const CONNECTION_LIFE_MAX_MS = 10_000
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Makes a client for destinations that are not trusted. It speaks HTTP/1.1 only. It follows no redirect, decompresses
 * nothing, repeats only what it may, and ignores proxy settings in the environment.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { in_progress_max = 10_000 } = options
  const connections = createConnectionPool({
    open: simulatedConnection() ?? realConnection(options),
    connections_per_origin: options.connections_per_origin ?? 64,
    life_ms: CONNECTION_LIFE_MAX_MS,
  })
  const closing = new AbortController()
  const in_progress = new Set<Promise<unknown>>()

  async function send(url: URL, request: HttpRequest, kind: 'any' | 'new' = 'any'): Promise<HttpResponse> {
    const { timeout_ms, connection_wait_ms, signal, is_repeatable } = request
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal]
    const began_ms = clock.monotonic_ms()
    const connection = await connections.acquire(url.origin, connection_wait_ms ?? timeout_ms, signals, kind)
    const waited_ms = connection_wait_ms === undefined ? clock.monotonic_ms() - began_ms : 0
    let reusable = false
    try {
      const response = await sendRequest(connection, url, request, timeout_ms - waited_ms, signals)
      reusable = !response.truncated
      return response
    } catch (error) {
      const is_stale = connection.was_kept && error instanceof HttpFailure && error.reason === 'reset'
      if (!is_repeatable || kind === 'new' || !is_stale) throw error
    } finally {
      connection.release(reusable)
    }
    return await send(url, request, 'new')
  }

  return {
    async request(request) {
      const url = URL.parse(request.url)
      if (url === null || !isHttpWithoutUserInfo(url)) throw new HttpFailure('not_sent', 'bad_request')
      if (in_progress.size >= in_progress_max) throw new HttpFailure('not_sent', 'busy')
      const response = send(url, request)
      in_progress.add(response)
      try {
        return await response
      } finally {
        in_progress.delete(response)
      }
    },
    async close() {
      await withTimeout(Promise.allSettled(in_progress), CLOSE_TIMEOUT_MS)
      closing.abort()
      await connections.close()
    },
  }
}

function realConnection(options: HttpClientOptions): OpenConnection {
  const { connect_timeout_ms = 5_000, keep_alive_ms = 4_000 } = options
  const connect = createConnect(options.allow, options.resolve ?? createHostResolver(), connect_timeout_ms)
  return createOpenConnection(connect, { keep_alive_ms, life_ms: CONNECTION_LIFE_MAX_MS })
}

/** The connections of simulation, which share one network in memory. */
function simulatedConnection(): OpenConnection | undefined {
  const dispatcher = simulatedNetwork()?.createDispatcher()
  return dispatcher && (() => dispatcher)
}

function isHttpWithoutUserInfo({ protocol, username, password }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
