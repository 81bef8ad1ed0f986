import { Agent, type Dispatcher } from 'undici'
import { withTimeout } from '#lib/platform/time.ts'
import type { AddressPolicy } from './address-policy.ts'
import { createConnect } from './connect.ts'
import { HttpFailure } from './http-failure.ts'
import { simulatedNetwork } from './network.ts'
import { createHostResolver, type ResolveHost } from './resolve-host.ts'
import { type HttpRequest, type HttpResponse, sendRequest } from './send-request.ts'

/** The policy and the limits of a client. */
export interface HttpClientOptions {
  /** Which IP addresses may be connected to, for every host name. */
  readonly allow: AddressPolicy
  /** Connections to one origin; further requests wait for one within their own time limit. 64 unless given. */
  readonly connections_per_host?: number
  /** Requests to all origins; a request beyond it fails at once as `busy`. 10,000 unless given. */
  readonly in_progress_max?: number
  readonly connect_timeout_ms?: number
  /** How long an idle connection stays open for the next request; 0 closes it at once. At most 10 s. */
  readonly keep_alive_ms?: number
  readonly resolve?: ResolveHost
}

/** The only way by which this system sends HTTP requests. */
export interface HttpClient {
  /** Sends a request at most once; see `HttpRequest` for the limits. Throws only `HttpFailure`. */
  request(request: HttpRequest): Promise<HttpResponse>
  /** Waits up to 2 s for running requests, then closes every connection. */
  close(): Promise<void>
}

/** No connection lives longer, so that changes of DNS and of the address policy take effect. */
const CONNECTION_LIFE_MAX_MS = 10_000
const HEADER_MAX_BYTES = 16 * 1024
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Makes a client for destinations that are not trusted. It speaks HTTP/1.1 only. It follows no redirect, decompresses
 * nothing, repeats nothing, and ignores proxy settings in the environment.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { in_progress_max = 10_000 } = options
  const dispatcher = simulatedNetwork()?.createDispatcher() ?? createAgent(options)
  const closing = new AbortController()
  const in_progress = new Set<Promise<unknown>>()

  return {
    async request(request) {
      const url = URL.parse(request.url)
      if (url === null || !isHttpWithoutUserInfo(url)) throw new HttpFailure('not_sent', 'bad_request')
      if (in_progress.size >= in_progress_max) throw new HttpFailure('not_sent', 'busy')
      const response = sendRequest(dispatcher, url, request, closing.signal)
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
      await dispatcher.destroy()
    },
  }
}

function createAgent(options: HttpClientOptions): Dispatcher {
  const { connect_timeout_ms = 5_000, keep_alive_ms = 4_000 } = options
  return new Agent({
    connect: createConnect(options.allow, options.resolve ?? createHostResolver(), connect_timeout_ms),
    connections: options.connections_per_host ?? 64,
    pipelining: keep_alive_ms === 0 ? 0 : 1,
    keepAliveTimeout: Math.max(1, Math.min(keep_alive_ms, CONNECTION_LIFE_MAX_MS)),
    keepAliveMaxTimeout: CONNECTION_LIFE_MAX_MS,
    clientTtl: CONNECTION_LIFE_MAX_MS,
    maxHeaderSize: HEADER_MAX_BYTES,
    // `timeout_ms` of each request limits the whole of it; these two would only limit the pauses within it.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
}

function isHttpWithoutUserInfo({ protocol, username, password }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}
