import type { MongoClient } from 'mongodb'
import { clock, every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'

/** The watch over a client. */
export interface MonitoringWatch {
  /** Ends the watch. Resolves when it does not use the client any more. */
  stop(): Promise<void>
}

/**
 * Connects a client again when the driver's check of a server does not end within a time. Driver 7.9 waits permanently when it
 * checks a server through a connection that has just been lost, before that connection reports it: it awaits that a
 * destroyed socket can be written to. From then on it never finds that server again once it has lost it.
 */
export function watchMonitoring(client: MongoClient, limit_ms: number): MonitoringWatch {
  /** By the address of the server: when the check began that has not ended yet. */
  const began_ms = new Map<string, number>()
  const forget = (address: string): void => void began_ms.delete(address)
  client.on('serverHeartbeatStarted', ({ connectionId }) => began_ms.set(connectionId, clock.monotonic_ms()))
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => forget(connectionId))
  client.on('serverHeartbeatFailed', ({ connectionId }) => forget(connectionId))
  client.on('serverClosed', ({ address }) => forget(address))

  let is_stopped = false
  let is_closed = false
  let reviewing = Promise.resolve()
  async function review(): Promise<void> {
    const overdue_ms = clock.monotonic_ms() - limit_ms
    const hung = [...began_ms].filter(([, since_ms]) => since_ms < overdue_ms).map(([address]) => address)
    if (hung.length === 0 && !is_closed) return
    if (!is_closed)
      log.warn({ host: hung, timeout_ms: limit_ms }, 'a check of MongoDB does not end; connecting again')
    is_closed = true
    await client.close()
    if (is_stopped) return
    await client.connect()
    is_closed = false
  }
  const timer = every(
    limit_ms / 4,
    () => {
      reviewing = review()
      return reviewing
    },
    (error) => log.warn({ error }, 'MongoDB could not be connected again; trying again'),
  )
  return {
    async stop() {
      is_stopped = true
      timer.cancel()
      await reviewing.catch(() => {})
    },
  }
}
