import { readFile } from 'node:fs/promises'
import { readConfig, type Variables } from '#lib/base/config/config.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { BUS_AUTH_SETTING, busLimitations } from '#lib/bus/authentication.ts'
import { parseNatsUrl } from '#lib/bus/nats-connection.ts'
import { readNatsPermissions, USER_INFO_SUBJECT } from '#lib/bus/nats-permissions.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { shownEnd, trustedEnd } from '#lib/http/certificate-ends.ts'
import type { Tls } from '#lib/http/tls.ts'
import { BACKUPS_SETTING } from '#lib/patterns/operation-runs.ts'
import {
  type EnvironmentCheck,
  type Finding,
  type InspectionOptions,
  inspectCertificate,
  ok,
  parseAddress,
  reach,
  type ServerAddress,
  sendCheckRequest,
  serverOf,
  warning,
  withExpiry,
} from '#lib/role/environment-check.ts'
import type { RoleName } from '#lib/role/role.ts'
import { probeProcess } from '#lib/rpc/client/probe-process.ts'
import { addressesOf, type RpcConfig } from '#lib/rpc/settings.ts'
import { parseHeaders, type TracingConfig } from '#lib/telemetry/tracing.ts'
import { natsInspection, natsTlsAddresses } from '../../app/connection-certificates.ts'
import type { ProcessConfig } from '../../app/process-settings.ts'
import { natsSecurityOf, openProcessBus } from '../../app/roles.ts'
import { permissionProblems } from './bus-permissions.ts'

/** How long a server may take to show its certificate, to respond, and to carry a message. */
const LIMIT_MS = 5_000

/**
 * Connects to a server, and over TLS looks at its certificate. Returns how to word a finding about the server: with TLS it
 * says until when the certificate is valid, which is a warning when it ends soon.
 */
async function reachServer(
  server: ServerAddress,
  is_tls: boolean,
  options: Omit<InspectionOptions, 'limit_ms'>,
): Promise<(text: string) => Finding> {
  if (!is_tls) {
    await reach(server, LIMIT_MS, options.advice)
    return ok
  }
  const expires_at = await inspectCertificate(server, { ...options, limit_ms: LIMIT_MS })
  return (text) => withExpiry(text, 'its', expires_at)
}

/** The checks of NATS and of the certificates of its servers; none without NATS. */
export function busChecks(config: ProcessConfig, names: readonly RoleName[]): readonly EnvironmentCheck[] {
  const { nats_url } = config
  if (nats_url === undefined) return []
  const checkCertificate = async (address: string): Promise<Finding> => {
    const found = await reachServer(parseAddress(address), true, await natsInspection(config))
    return found('trusted')
  }
  return [
    { subject: 'NATS', run: () => checkBus(config, nats_url, names) },
    ...natsTlsAddresses(config).map((address) => ({
      subject: `certificate of NATS at ${address}`,
      run: () => checkCertificate(address),
    })),
  ]
}

/** A warning while the environment says that unsigned messages of the bus are accepted; none otherwise. */
export function busAuthChecks(variables: Variables): readonly EnvironmentCheck[] {
  const { bus_auth } = readConfig({ bus_auth: BUS_AUTH_SETTING }, variables)
  return busLimitations(bus_auth).map((text) => ({
    subject: 'MULTIHUB_BUS_AUTH',
    run: async () => warning(text),
  }))
}

/**
 * A problem while nobody has decided where the backups of a system are kept that has servers or pods. Only the local run, on files of
 * one machine, may leave it open. The back office reads the decision.
 */
export function backupChecks(
  { mongodb_uri, kubernetes }: Pick<ProcessConfig, 'mongodb_uri' | 'kubernetes'>,
  variables: Variables,
  names: readonly RoleName[],
): readonly EnvironmentCheck[] {
  if (!names.includes('backoffice') || (mongodb_uri === undefined && kubernetes === undefined)) return []
  const { variable: subject } = BACKUPS_SETTING
  const { backups } = readConfig({ backups: BACKUPS_SETTING }, variables)
  return [
    {
      subject,
      async run() {
        if (backups === undefined)
          throw new StartError('decide where backups are kept: set claim, object or elsewhere')
        const text =
          backups === 'elsewhere' ? 'no alert fires for an old backup' : 'an alert fires for an old backup'
        return ok(`${backups}: ${text}`)
      },
    },
  ]
}

/**
 * Connects with the credentials and TLS of the process, and sends a message to itself. Then asks the server whether the user may do
 * what the roles need, and no more: whoever takes over a role must not send what another one sends (O10).
 */
async function checkBus(
  config: ProcessConfig,
  nats_url: Secret,
  names: readonly RoleName[],
): Promise<Finding> {
  const bus = await openProcessBus(config, 'doctor', { limit_ms: 0 })
  const own = `doctor.${randomHex(8)}`
  try {
    const { promise: received, resolve } = Promise.withResolvers<true>()
    await bus.subscribe(own, () => resolve(true))
    await bus.publish(own, new Uint8Array())
    if (!(await withTimeout(received, LIMIT_MS)))
      return warning(
        `connected, but a message did not come back: permit this user to publish and subscribe to ${config.system_name}.doctor.>`,
      )
  } finally {
    await bus.close()
  }
  const permissions = await readNatsPermissions(
    {
      address: parseNatsUrl(nats_url),
      name: 'doctor',
      security: natsSecurityOf(config),
      start_wait: { limit_ms: 0 },
    },
    `${config.system_name}.${own}`,
  )
  if (permissions === undefined)
    return warning(
      `carries messages, but what this user may do is unknown: permit it to publish to ${USER_INFO_SUBJECT} (NATS 2.10 or newer)`,
    )
  const problems = permissionProblems(permissions, names, config.system_name)
  if (problems.length === 0) return ok('carries messages')
  return warning(
    `carries messages, but this user ${problems.join('; ')}: give each role a user as in deploy/nats.conf`,
  )
}

/** The check of each configured process: reachable, trusted, ready, of that role, and accepting the credentials. */
export function peerChecks(config: RpcConfig, tls: Tls | undefined): readonly EnvironmentCheck[] {
  return [...addressesOf(config)].map(([role, address]) => ({
    subject: `${role} at ${address}`,
    run: () => checkPeer(role, address, tls, config.token),
  }))
}

async function checkPeer(
  role: string,
  address: string,
  tls: Tls | undefined,
  token: RpcConfig['token'],
): Promise<Finding> {
  const variable = `MULTIHUB_${role.toUpperCase()}_ADDRESS`
  const found = await reachServer(parseAddress(address), tls !== undefined, {
    material: tls?.current(),
    advice: `start that role, or correct ${variable}`,
    authority: 'MULTIHUB_TLS_CA',
  })
  const { is_serving, services } = await probeProcess({ address, token, tls, limit_ms: LIMIT_MS }).catch(
    (error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
      const advice =
        tls === undefined
          ? 'if it has MULTIHUB_TLS_KEY, this process needs it too'
          : 'if its MULTIHUB_TLS_CA does not trust MULTIHUB_TLS_CERTIFICATE of this process, use one authority for both'
      throw new StartError(`something listens, but gives no gRPC response (${error.message}): ${advice}`)
    },
  )
  if (services === undefined) throw new StartError(refusalText(token !== undefined, tls !== undefined))
  if (!services.some((name) => name.startsWith(`multihub.${role}.`)))
    throw new StartError(`the process there does not run ${role}: correct ${variable}`)
  if (!is_serving) throw new StartError('the process answers, but it is not ready: its /readyz says why')
  return found('ready, and it accepts the credentials of this process')
}

function refusalText(has_token: boolean, has_tls: boolean): string {
  if (has_token)
    return 'it does not know the token of this process: put the SHA-256 of MULTIHUB_RPC_TOKEN into its MULTIHUB_RPC_CALLERS'
  const token = 'set MULTIHUB_RPC_TOKEN'
  if (!has_tls) return `it refuses calls without a token: ${token}`
  return `it does not know the certificate of this process: name it in its MULTIHUB_RPC_CERTIFICATES, or ${token}`
}

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
  const advice = 'start the collector of traces, or correct OTEL_EXPORTER_OTLP_ENDPOINT'
  const is_tls = endpoint.startsWith('https:')
  const found = await reachServer(serverOf(endpoint), is_tls, { advice, authority: 'NODE_EXTRA_CA_CERTS' })
  const { status } = await sendCheckRequest(
    {
      method: 'POST',
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      createHeaders: () => ({ ...headers, 'content-type': 'application/x-protobuf' }),
      body: new Uint8Array(),
      timeout_ms: LIMIT_MS,
    },
    advice,
  )
  if (status === 401 || status === 403)
    throw new StartError(`it refuses the headers (HTTP ${status}): correct OTEL_EXPORTER_OTLP_HEADERS`)
  if (status < 200 || status > 299)
    throw new StartError(`it does not take traces (HTTP ${status}): correct OTEL_EXPORTER_OTLP_ENDPOINT`)
  return found('takes traces')
}

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
  const endOf = is_authority ? trustedEnd : shownEnd
  const { end_ms } = endOf(await readFile(path), path)
  const expires_at = new Date(end_ms)
  if (end_ms <= clock.now_ms())
    throw new StartError(`the certificate expired on ${expires_at.toISOString().slice(0, 10)}: renew it`)
  return withExpiry('readable', 'the', expires_at)
}
