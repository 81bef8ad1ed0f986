import { readFile } from 'node:fs/promises'
import { isNativeError } from 'node:util/types'
import {
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node'
import { backoffDelay } from '#lib/base/backoff.ts'
import { ConfigError } from '#lib/base/config/config.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { systemErrorCode } from '#lib/base/files.ts'
import { sleep, withTimeout } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { type StartWait, waitForServer } from '#lib/telemetry/wait-for-server.ts'

/** The servers of NATS and the credentials for them, in the form that its client takes. */
interface NatsAddress {
  readonly servers: string[]
  /** Host and port of every server without credentials, for logs and errors. */
  readonly display_name: string
  readonly tls: boolean
  readonly credentials: { user: string; pass: string } | { token: string } | Record<string, never>
}

const DEFAULT_PORT = '4222'

/**
 * Parses NATS_URL: one or several `nats://host:port` or `tls://host:port`, separated by commas, with optional
 * percent-encoded `user:password@` or `token@` before a host. The client itself would silently ignore credentials in a
 * URL. Throws `ConfigError`.
 */
export function parseNatsUrl(nats_url: Secret): NatsAddress {
  const urls = nats_url
    .reveal()
    .split(',')
    .map((text) => parseServerUrl(text.trim()))
  const first = urls.find(({ username }) => username !== '') ?? urls[0]
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port === '' ? DEFAULT_PORT : port}`)
  return {
    servers,
    display_name: servers.join(', '),
    tls: urls.some(({ protocol }) => protocol === 'tls:'),
    credentials: credentialsOf(
      decodeURIComponent(first?.username ?? ''),
      decodeURIComponent(first?.password ?? ''),
    ),
  }
}

function credentialsOf(user: string, pass: string): NatsAddress['credentials'] {
  if (user === '') return {}
  return pass === '' ? { token: user } : { user, pass }
}

function parseServerUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
  if (url === null || url.hostname === '' || !['nats:', 'tls:'].includes(url.protocol)) {
    throw new ConfigError([
      'NATS_URL must be one or several URLs such as nats://host:4222, separated by commas',
    ])
  }
  return url
}

/** How NATS and this process authenticate each other, apart from what NATS_URL contains. */
export interface NatsSecurity {
  /** The paths of PEM files. The client reads them for every connection, so that they can be replaced. */
  readonly authority?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
  /** The content of a credentials file: a JWT and the seed of its key. */
  readonly credentials?: Secret | undefined
}

/** The client's options for TLS and credentials. Throws `ConfigError` when a file cannot be read or used. */
async function natsSecurityOptions(
  { authority, certificate, key, credentials }: NatsSecurity,
  url_has_tls: boolean,
): Promise<Pick<ConnectionOptions, 'tls' | 'authenticator'>> {
  if ((certificate === undefined) !== (key === undefined))
    throw new ConfigError(['NATS_TLS_CERTIFICATE and NATS_TLS_KEY must be set together'])
  const files = { NATS_TLS_CA: authority, NATS_TLS_CERTIFICATE: certificate, NATS_TLS_KEY: key }
  const problems = await Promise.all(
    Object.entries(files).map(([variable, path]) => problemOf(variable, path)),
  )
  const found = problems.filter((problem) => problem !== undefined)
  if (found.length > 0) throw new ConfigError(found)
  const has_tls = url_has_tls || authority !== undefined || certificate !== undefined
  return {
    ...(has_tls && {
      tls: {
        ...(authority !== undefined && { caFile: authority }),
        ...(certificate !== undefined && { certFile: certificate }),
        ...(key !== undefined && { keyFile: key }),
      },
    }),
    ...(credentials && { authenticator: authenticatorOf(credentials) }),
  }
}

async function problemOf(variable: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    const pem = await readFile(path, 'latin1')
    return pem.includes('-----BEGIN ') ? undefined : `${variable} must name a PEM file`
  } catch (error) {
    return `${variable} cannot be read (${systemErrorCode(error)})`
  }
}

function authenticatorOf(credentials: Secret): NonNullable<ConnectionOptions['authenticator']> {
  // The client expects a line end after the last line.
  const authenticate = credsAuthenticator(new TextEncoder().encode(`${credentials.reveal()}\n`))
  try {
    // The client parses the text at its first use only.
    Reflect.apply(authenticate as (nonce?: string) => unknown, undefined, ['nonce'])
  } catch {
    throw new ConfigError(['NATS_CREDENTIALS must be the content of a NATS credentials file (.creds)'])
  }
  return authenticate
}

const DIAL_TIMEOUT_MS = 2_000
/** Short, because what waits for the bus must be delivered soon after its return. A try is cheap for both sides. */
const DIAL_BACKOFF = { first_ms: 50, max_ms: 500 }

/** A connection to a frozen or unreachable server is closed after two missed pings: after 10 to 15 s. */
const PING_INTERVAL_MS = 5_000
const PINGS_MISSED_MAX = 2

/** How long a flush waits for the server to confirm that it has read everything. */
const FLUSH_TIMEOUT_MS = 2_000

const connections = gauge('multihub_bus_connected', 'Whether NATS is connected: 1 or 0.')

/** What a connection to NATS needs. */
export interface NatsConnectionOptions {
  readonly address: NatsAddress
  /** The name of the connection in the monitoring of NATS. */
  readonly name: string
  readonly security: NatsSecurity
  readonly start_wait: StartWait
}

/**
 * Connects, and calls `onConnect` with this and every later connection. Throws `Unavailable` when no server answers
 * within the start's waiting time. The client's own reconnecting is not used: once its socket buffer is full, it waits
 * for a frozen server without a limit and never closes the connection.
 */
export async function openPersistentConnection(
  { address, name, security, start_wait }: NatsConnectionOptions,
  onConnect: (connection: NatsConnection) => void,
) {
  const { servers, display_name, credentials } = address
  const options: ConnectionOptions = {
    servers,
    ...credentials,
    ...(await natsSecurityOptions(security, address.tls)),
    name,
    timeout: DIAL_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: PINGS_MISSED_MAX,
    reconnect: false,
  }
  const closing = new AbortController()
  let current: NatsConnection | undefined

  const attach = (connection: NatsConnection): void => {
    current = connection
    connections.set({}, 1)
    void watch(connection)
    void connection.closed().then(reconnect)
    onConnect(connection)
    log.info({ host: display_name }, 'connected to NATS')
  }
  const reconnect = async (reason: unknown): Promise<void> => {
    current = undefined
    connections.set({}, 0)
    if (closing.signal.aborted) return
    log.warn({ host: display_name, error: reason }, 'lost the connection to NATS')
    const connection = await dial(options, closing.signal)
    if (connection === undefined) return
    if (closing.signal.aborted) await connection.close()
    else attach(connection)
  }

  const first = await connectAtStart(options, display_name, start_wait)
  attach(first)
  return {
    /** The open connection; `undefined` while NATS is unavailable. */
    current: () => current,
    async close(): Promise<void> {
      closing.abort()
      // The connection can be lost during the flush, and then there is no current one.
      const connection = current
      if (connection === undefined) return
      await flush(connection)
      await connection.close()
    },
  }
}

/** Waits for the first connection. A server that refuses the credentials will not accept them later. */
async function connectAtStart(
  options: ConnectionOptions,
  display_name: string,
  start_wait: StartWait,
): Promise<NatsConnection> {
  const server = { name: `NATS at ${display_name}`, isMissing: (error: unknown) => !isRefusal(error) }
  try {
    return await waitForServer(server, start_wait, () => connect(options))
  } catch (cause) {
    const reason = isNativeError(cause) ? cause.message : 'unknown error'
    throw new Unavailable(
      isRefusal(cause)
        ? `NATS at ${display_name} refuses the credentials: correct NATS_URL or NATS_CREDENTIALS`
        : `NATS does not answer at ${display_name} (${reason}): start it, or correct NATS_URL`,
      { cause },
    )
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AuthorizationError
}

/** Tries until a server answers. Jitter spreads the clients of a restarted server. */
async function dial(options: ConnectionOptions, signal: AbortSignal): Promise<NatsConnection | undefined> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await connect(options)
    } catch (error) {
      log.debug({ error }, 'NATS does not answer; trying again')
    }
    await sleep(backoffDelay(failures, DIAL_BACKOFF, randomFraction()), signal)
  }
  return undefined
}

async function watch(connection: NatsConnection): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'error') log.error({ error: status.error }, 'NATS reported an error')
    // The client itself would first wait until its socket accepts more data, so the stale connection is closed here.
    if (status.type === 'staleConnection') void connection.close()
  }
}

/** Whether the server confirms within 2 s that it has read everything that was sent. */
export async function flush(connection: NatsConnection): Promise<boolean> {
  const confirmed = connection.flush().then(
    () => true,
    (error: unknown) => {
      log.debug({ error }, 'NATS disconnected before it confirmed a flush')
      return false
    },
  )
  return (await withTimeout(confirmed, FLUSH_TIMEOUT_MS)) ?? false
}
