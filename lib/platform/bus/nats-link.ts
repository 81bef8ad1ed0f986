import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { clock, sleep, withTimeout } from '#lib/platform/time.ts'
import type { NatsAddress } from './nats-url.ts'

/** So long a start waits for NATS: enough for a server that starts at the same time. */
const START_LIMIT_MS = 5_000
const DIAL_TIMEOUT_MS = 2_000
const DIAL_BACKOFF = { first_ms: 50, max_ms: 5_000 }

/** A server that is frozen or cut off is given up after two missed answers: in 10 to 15 s. */
const PING_INTERVAL_MS = 5_000
const PINGS_MISSED_MAX = 2

/** So long a clean end waits for the server's last word before it does without. */
const FLUSH_TIMEOUT_MS = 2_000

const connections = gauge('multihub_bus_connected', 'Whether NATS is connected: 1 or 0.')

/** A connection to NATS that is made anew, for ever, whenever it is lost. */
export interface NatsLink {
  /** The connection, or nothing while NATS is away. */
  current(): NatsConnection | undefined
  close(): Promise<void>
}

/**
 * Connects, and calls `attached` with this and every later connection. Throws `Unavailable` when no server answers
 * at the start. The client's own reconnecting is not used: with its socket's buffer full it waits for ever for a
 * frozen server before it would give the connection up.
 */
export async function openNatsLink(
  { servers, shown, tls, credentials }: NatsAddress,
  name: string,
  attached: (connection: NatsConnection) => void,
): Promise<NatsLink> {
  const options: ConnectionOptions = {
    servers,
    ...credentials,
    ...(tls ? { tls: {} } : {}),
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
    void connection.closed().then(lost)
    attached(connection)
    log.info({ host: shown }, 'connected to NATS')
  }
  const lost = async (reason: unknown): Promise<void> => {
    current = undefined
    connections.set({}, 0)
    if (closing.signal.aborted) return
    log.warn({ host: shown, error: reason }, 'lost the connection to NATS')
    const connection = await dial(options, closing.signal)
    if (connection === undefined) return
    if (closing.signal.aborted) await connection.close()
    else attach(connection)
  }

  const tooLate = new AbortController()
  const timer = clock.after(START_LIMIT_MS, () => tooLate.abort())
  const first = await dial(options, tooLate.signal)
  timer.cancel()
  if (first === undefined) {
    throw new Unavailable(`NATS does not answer at ${shown}: start it, or correct NATS_URL`)
  }
  attach(first)
  return {
    current: () => current,
    async close() {
      closing.abort()
      if (current === undefined) return
      await flush(current)
      await current.close()
    },
  }
}

/** Tries until a server answers; the pauses grow, with jitter, so that a restarted server is not met by all at once. */
async function dial(options: ConnectionOptions, giveUp: AbortSignal): Promise<NatsConnection | undefined> {
  for (let failures = 1; !giveUp.aborted; failures++) {
    try {
      return await connect(options)
    } catch (error) {
      log.debug({ error }, 'NATS does not answer')
    }
    await sleep(backoffDelay(failures, DIAL_BACKOFF, randomFraction()), giveUp)
  }
  return undefined
}

async function watch(connection: NatsConnection): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'error') log.error({ error: status.error }, 'NATS answered an error')
    // A stale connection is closed here because the client alone would first wait for its socket to take more.
    if (status.type === 'staleConnection') void connection.close()
  }
}

/** Whether the server confirms, within a while, that it has read all that was sent. */
export async function flush(connection: NatsConnection): Promise<boolean> {
  const confirmed = connection.flush().then(
    () => true,
    (error: unknown) => {
      log.debug({ error }, 'NATS left before it confirmed')
      return false
    },
  )
  return (await withTimeout(confirmed, FLUSH_TIMEOUT_MS)) ?? false
}
