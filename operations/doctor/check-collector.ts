import { StartError } from '#lib/base/start-error.ts'
import {
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  reach,
  sendCheckRequest,
  serverOf,
  withExpiry,
} from '#lib/role/environment-check.ts'
import { parseHeaders, type TracingConfig } from '#lib/telemetry/tracing.ts'

const LIMIT_MS = 5_000
const ADVICE = 'start the collector of traces, or correct OTEL_EXPORTER_OTLP_ENDPOINT'

/**
 * The check of the collector of traces, none without one: it takes an export of no span with the configured headers. A
 * process also works while the collector is down, so only this check says that traces go nowhere.
 */
export function collectorChecks({ otlp_endpoint, otlp_headers }: TracingConfig): readonly EnvironmentCheck[] {
  if (otlp_endpoint === undefined) return []
  const headers = parseHeaders(otlp_headers?.reveal() ?? '')
  return [{ subject: `collector ${otlp_endpoint}`, run: () => exportNothing(otlp_endpoint, headers) }]
}

async function exportNothing(endpoint: string, headers: Readonly<Record<string, string>>): Promise<Finding> {
  const server = serverOf(endpoint)
  const is_https = endpoint.startsWith('https:')
  const options = { limit_ms: LIMIT_MS, advice: ADVICE, authority: 'NODE_EXTRA_CA_CERTS' }
  const expires_at = is_https ? await inspectCertificate(server, options) : undefined
  if (!is_https) await reach(server, LIMIT_MS, ADVICE)
  const { status } = await sendCheckRequest(
    {
      method: 'POST',
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      createHeaders: () => ({ ...headers, 'content-type': 'application/x-protobuf' }),
      body: new Uint8Array(),
      timeout_ms: LIMIT_MS,
    },
    ADVICE,
  )
  if (status === 401 || status === 403)
    throw new StartError(`it refuses the headers (HTTP ${status}): correct OTEL_EXPORTER_OTLP_HEADERS`)
  if (status < 200 || status > 299)
    throw new StartError(`it does not take traces (HTTP ${status}): correct OTEL_EXPORTER_OTLP_ENDPOINT`)
  return expires_at === undefined ? ok('takes traces') : withExpiry('takes traces', 'its', expires_at)
}
