import { Agent } from 'undici'
import { withTimeout } from '#lib/platform/time.ts'
import type { AddressPolicy } from './address-policy.ts'
import { createConnect } from './connect.ts'
import { HttpFailure } from './http-failure.ts'
import { createHostResolver, type ResolveHost } from './resolve-host.ts'
import { type HttpRequest, type HttpResponse, sendRequest } from './send-request.ts'

/** What a client may do, and how much of it. */
export interface HttpClientOptions {
  /** Which addresses may be connected to, whatever name led there. */
  readonly allow: AddressPolicy
  /** Of one origin; further requests wait for a connection within their own time. 64 unless given. */
  readonly connections_per_host?: number
  /** Of all origins; beyond it a request fails at once as `busy`. 10,000 unless given. */
  readonly in_flight_max?: number
  readonly connect_timeout_ms?: number
  /** How long an idle connection is kept for the next request; 0 for none. At most 10 s. */
  readonly keep_alive_ms?: number
  readonly resolve?: ResolveHost
}

/** The one way out of this system by HTTP. */
export interface HttpClient {
  /** One request, sent at most once; see `HttpRequest` for the limits. Throws only `HttpFailure`. */
  request(request: HttpRequest): Promise<HttpResponse>
  /** Lets what is under way end for a moment, then closes every connection. */
  close(): Promise<void>
}

/** Nothing is kept longer, so that changes of names and of rules take hold. */
const CONNECTION_LIFE_MAX_MS = 10_000
const HEADER_MAX_BYTES = 16 * 1024
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Makes a client for destinations that are not trusted. HTTP/1.1 only; no redirect is followed, nothing is
 * decompressed, nothing is repeated, and no proxy is picked up from the environment.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { in_flight_max = 10_000, connect_timeout_ms = 5_000, keep_alive_ms = 4_000 } = options
  const agent = new Agent({
    connect: createConnect(options.allow, options.resolve ?? createHostResolver(), connect_timeout_ms),
    connections: options.connections_per_host ?? 64,
    pipelining: keep_alive_ms === 0 ? 0 : 1,
    keepAliveTimeout: Math.max(1, Math.min(keep_alive_ms, CONNECTION_LIFE_MAX_MS)),
    keepAliveMaxTimeout: CONNECTION_LIFE_MAX_MS,
    clientTtl: CONNECTION_LIFE_MAX_MS,
    maxHeaderSize: HEADER_MAX_BYTES,
    // Each exchange has a limit of its own that covers all of it; these two would only bound the pauses in between.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
  const closing = new AbortController()
  const under_way = new Set<Promise<unknown>>()

  return {
    async request(request) {
      const url = URL.parse(request.url)
      if (url === null || !isPlain(url)) throw new HttpFailure('not_sent', 'bad_request')
      if (under_way.size >= in_flight_max) throw new HttpFailure('not_sent', 'busy')
      const work = sendRequest(agent, url, request, closing.signal)
      under_way.add(work)
      try {
        return await work
      } finally {
        under_way.delete(work)
      }
    },
    async close() {
      await withTimeout(Promise.allSettled(under_way), CLOSE_TIMEOUT_MS)
      closing.abort()
      await agent.destroy()
    },
  }
}

function isPlain({ protocol, username, password }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
