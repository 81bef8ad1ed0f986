import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Address, type Listening, listen } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import { METRICS_TYPE, metricsText } from '#lib/telemetry/metrics.ts'
import type { Readiness } from './readiness.ts'

interface HealthResponse {
  readonly status: number
  readonly content_type: string
  readonly body: string
}

const CONNECTIONS_MAX = 1_000
const HTTP_OPTIONS = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 65_000 }

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on a port of their own, so that a network policy can admit probes and
 * scrapers without admitting them to RPCs (R2). It needs no credentials, is always plain HTTP, and shows no secret.
 */
export function serveHealth(readiness: Readiness, address: Omit<Address, 'variable'>): Promise<Listening> {
  const server = createServer(HTTP_OPTIONS, (request, response) => {
    respondTo(readiness, request).then(
      (ready) => send(response, ready),
      (error: unknown) => {
        log.error({ error }, 'health request failed')
        send(response, plain(500, 'Internal Server Error'))
      },
    )
  })
  server.maxConnections = CONNECTIONS_MAX
  return listen(server, { ...address, variable: 'MULTIHUB_HEALTH_PORT' })
}

async function respondTo(
  readiness: Readiness,
  { method, url = '' }: IncomingMessage,
): Promise<HealthResponse> {
  const [path] = url.split('?', 1)
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') return plain(404, 'Not Found')
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'Method Not Allowed')
  if (path === '/healthz') return plain(200, 'ok')
  if (path === '/metrics') return { status: 200, content_type: METRICS_TYPE, body: await metricsText() }
  const { ready, unready_parts, limitations } = readiness.state()
  const first_line = ready ? 'ready' : `waiting for ${unready_parts.join(', ')}`
  return plain(ready ? 200 : 503, [first_line, ...limitations].join('\n'))
}

function plain(status: number, text: string): HealthResponse {
  return { status, content_type: 'text/plain', body: `${text}\n` }
}

function send(response: ServerResponse, { status, content_type, body }: HealthResponse): void {
  response.writeHead(status, { 'content-type': content_type, 'cache-control': 'no-store' })
  response.end(body)
}
