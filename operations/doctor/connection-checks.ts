import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Tls } from '#lib/http/tls.ts'
import {
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  parseAddress,
  reach,
  sendCheckRequest,
  serverOf,
  withExpiry,
} from '#lib/role/environment-check.ts'
import { probeProcess } from '#lib/rpc/client/probe-process.ts'
import { addressesOf, type RpcConfig } from '#lib/rpc/settings.ts'
import { parseHeaders, type TracingConfig } from '#lib/telemetry/tracing.ts'

const LIMIT_MS = 5_000

/** The check of each configured process: reachable, trusted, ready, of that role, and accepting the credentials. */
export function peerChecks(config: RpcConfig, tls: Tls | undefined): readonly EnvironmentCheck[] {
  return [...addressesOf(config)].map(([role, address]) => ({
    subject: `${role} at ${address}`,
    run: () => checkPeer({ role, address, tls, token: config.token }),
  }))
}

interface Peer {
  readonly role: string
  readonly address: string
  readonly tls: Tls | undefined
  readonly token: RpcConfig['token']
}

async function checkPeer({ role, address, tls, token }: Peer): Promise<Finding> {
  const variable = `MULTIHUB_${role.toUpperCase()}_ADDRESS`
  const server = parseAddress(address)
  const advice = `start that role, or correct ${variable}`
  const material = tls?.current()
  const options = { material, limit_ms: LIMIT_MS, advice, authority: 'MULTIHUB_TLS_CA' }
  const expires_at = tls && (await inspectCertificate(server, options))
  if (tls === undefined) await reach(server, LIMIT_MS, advice)
  const { is_serving, services } = await probe({ role, address, tls, token })
  if (services === undefined) throw new StartError(refusalText(token !== undefined, tls !== undefined))
  if (!services.some((name) => name.startsWith(`multihub.${role}.`)))
    throw new StartError(`the process there does not run ${role}: correct ${variable}`)
  if (!is_serving) throw new StartError('the process answers, but it is not ready: its /readyz says why')
  const text = 'ready, and it accepts the credentials of this process'
  return expires_at === undefined ? ok(text) : withExpiry(text, 'its', expires_at)
}

async function probe({ address, tls, token }: Peer): ReturnType<typeof probeProcess> {
  try {
    return await probeProcess({ address, token, tls, limit_ms: LIMIT_MS })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    const advice =
      tls === undefined
        ? 'if it has MULTIHUB_TLS_KEY, this process needs it too'
        : 'if its MULTIHUB_TLS_CA does not trust MULTIHUB_TLS_CERTIFICATE of this process, use one authority for both'
    throw new StartError(`something listens, but gives no gRPC response (${error.message}): ${advice}`)
  }
}

function refusalText(has_token: boolean, has_tls: boolean): string {
  if (has_token)
    return 'it does not know the token of this process: put the SHA-256 of MULTIHUB_RPC_TOKEN into its MULTIHUB_RPC_CALLERS'
  const token = 'set MULTIHUB_RPC_TOKEN'
  if (!has_tls) return `it refuses calls without a token: ${token}`
  return `it does not know the certificate of this process: name it in its MULTIHUB_RPC_CERTIFICATES, or ${token}`
}

const COLLECTOR_ADVICE = 'start the collector of traces, or correct OTEL_EXPORTER_OTLP_ENDPOINT'

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
  const options = { limit_ms: LIMIT_MS, advice: COLLECTOR_ADVICE, authority: 'NODE_EXTRA_CA_CERTS' }
  const expires_at = is_https ? await inspectCertificate(server, options) : undefined
  if (!is_https) await reach(server, LIMIT_MS, COLLECTOR_ADVICE)
  const { status } = await sendCheckRequest(
    {
      method: 'POST',
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      createHeaders: () => ({ ...headers, 'content-type': 'application/x-protobuf' }),
      body: new Uint8Array(),
      timeout_ms: LIMIT_MS,
    },
    COLLECTOR_ADVICE,
  )
  if (status === 401 || status === 403)
    throw new StartError(`it refuses the headers (HTTP ${status}): correct OTEL_EXPORTER_OTLP_HEADERS`)
  if (status < 200 || status > 299)
    throw new StartError(`it does not take traces (HTTP ${status}): correct OTEL_EXPORTER_OTLP_ENDPOINT`)
  return expires_at === undefined ? ok('takes traces') : withExpiry('takes traces', 'its', expires_at)
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * The checks of the certificates that this process shows, and of the authorities that it trusts, by the variable that names
 * the file. A file may have several: the first is the one shown, and one valid authority is enough.
 */
export function certificateFileChecks(
  files: Readonly<Record<string, string | undefined>>,
): readonly EnvironmentCheck[] {
  return Object.entries(files).flatMap(([variable, path]) =>
    path === undefined ? [] : [{ subject: variable, run: () => checkFile(path, variable.endsWith('_CA')) }],
  )
}

async function checkFile(path: string, is_authority: boolean): ReturnType<EnvironmentCheck['run']> {
  const pem = await readFile(path, 'latin1')
  const ends = (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text).validToDate)
  if (is_authority) ends.sort((one, other) => other.getTime() - one.getTime())
  const [expires_at] = ends
  if (expires_at === undefined) throw new StartError('the file has no certificate: replace it')
  if (expires_at.getTime() <= clock.now_ms())
    throw new StartError(`the certificate expired on ${expires_at.toISOString().slice(0, 10)}: renew it`)
  return withExpiry('readable', 'the', expires_at)
}
