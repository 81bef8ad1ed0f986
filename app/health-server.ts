import { createServer, type IncomingMessage } from 'node:http'
import { CONNECTIONS_CHECK_MS, createConnectionLimit, internalLimits } from '#lib/http/connection-limit.ts'
import { type Address, type Listening, listen, plain, sendText } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import { METRICS_TYPE, metricsText } from '#lib/telemetry/metrics.ts'

/**
 * The response of `/readyz`: a process is ready when all its parts are. Liveness (`/healthz`) is separate: a process that
 * can answer that request is alive.
 */
export type Readiness = ReturnType<typeof createReadiness>

/** Creates the readiness of a process. Once `draining` aborts, the process is never ready again. */
export function createReadiness(draining: AbortSignal) {
  const unready = new Map<string, string | undefined>()
  const limited = new Map<string, readonly string[]>()
  let ready_callbacks: (() => void)[] = []
  const state = () => ({
    ready: unready.size === 0 && !draining.aborted,
    /** The names of the parts that cannot do their work, each with the reason in parentheses if there is one. */
    unready_parts: draining.aborted ? ['stopping'] : [...unready].map(described),
    /** What parts cannot do although the process is ready, such as `balances: shard 7: newer format`. */
    limitations: [...limited].flatMap(([part, texts]) => texts.map((text) => `${part}: ${text}`)),
  })
  return {
    /**
     * Sets whether a part can do its work now. A part that was never set counts as ready. `reason` says in words why it
     * cannot, where the operator needs more than the name.
     */
    set(part: string, ready: boolean, reason?: string) {
      if (ready) unready.delete(part)
      else unready.set(part, reason)
      if (!state().ready) return
      for (const resolve of ready_callbacks) resolve()
      ready_callbacks = []
    },
    /** Sets what a part cannot do although it is ready. */
    setLimitations: (part: string, limitations: readonly string[]) => void limited.set(part, limitations),
    state,
    /** Resolves as soon as the process is ready. */
    whenReady: () =>
      new Promise<void>((resolve) => {
        if (state().ready) resolve()
        else ready_callbacks.push(resolve)
      }),
  }
}

function described([part, reason]: readonly [string, string | undefined]): string {
  return reason === undefined ? part : `${part} (${reason})`
}

const CONNECTIONS_MAX = 1_000
const HTTP_OPTIONS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on a port of their own, so that a network policy can admit probes and
 * scrapers without admitting them to RPCs (R2). It needs no credentials, is always plain HTTP, and shows no secret. A probe
 * is answered however many connections are open: the oldest makes room for it.
 */
export function serveHealth(readiness: Readiness, address: Omit<Address, 'variable'>): Promise<Listening> {
  const server = createServer(HTTP_OPTIONS, (request, response) => {
    respondTo(readiness, request).then(
      (ready) => sendText(response, ready),
      (error: unknown) => {
        log.error({ error }, 'health request failed')
        sendText(response, plain(500, 'Internal Server Error'))
      },
    )
  })
  createConnectionLimit('health', internalLimits(CONNECTIONS_MAX)).attach(server)
  return listen(server, { ...address, variable: 'MULTIHUB_HEALTH_PORT' })
}

async function respondTo(readiness: Readiness, { method, url = '' }: IncomingMessage) {
  const [path] = url.split('?', 1)
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') return plain(404, 'Not Found')
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'Method Not Allowed')
  if (path === '/healthz') return plain(200, 'ok')
  if (path === '/metrics') return { status: 200, content_type: METRICS_TYPE, body: await metricsText() }
  const { ready, unready_parts, limitations } = readiness.state()
  const first_line = ready ? 'ready' : `waiting for ${unready_parts.join(', ')}`
  return plain(ready ? 200 : 503, [first_line, ...limitations].join('\n'))
}
