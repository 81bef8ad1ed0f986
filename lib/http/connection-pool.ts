import { clock } from '#lib/base/time.ts'
import type { Connection, OpenConnection } from './connect.ts'
import { HttpFailure } from './http-failure.ts'

interface ConnectionPoolOptions {
  /** Makes a connection to an origin. It connects with its first request. */
  readonly open: OpenConnection
  /** Connections to one origin, in use and idle. */
  readonly connections_per_origin: number
  /** A connection that is older is not used again. */
  readonly life_ms: number
}

/** A connection that the caller has for itself until it releases it. */
interface AcquiredConnection extends Pick<Connection, 'dispatch'> {
  /** Whether it has carried an earlier request. Its receiver can have closed it since, or close it at this moment. */
  readonly was_kept: boolean
  /** Gives the connection back. A connection that is not `reusable` is closed at once, also while it is still connecting. */
  release(reusable: boolean): void
}

interface Origin {
  readonly url: string
  readonly open: Set<Connection>
  /** The connection that was used last comes last and is used next, so that the others expire. */
  readonly idle: KeptConnection[]
  readonly waiting: Set<(connection: AcquiredConnection) => void>
}

interface KeptConnection {
  readonly connection: Connection
  readonly opened_ms: number
  /** Whether its socket was closed since it was lent. It would wait among the idle ones without ever closing again. */
  was_closed: boolean
}

/** Makes a pool without connections. */
export function createConnectionPool(options: ConnectionPoolOptions) {
  const { open, connections_per_origin, life_ms } = options
  const origins = new Map<string, Origin>()

  function originOf(url: string): Origin {
    const known = origins.get(url)
    if (known !== undefined) return known
    const origin: Origin = { url, open: new Set(), idle: [], waiting: new Set() }
    origins.set(url, origin)
    return origin
  }

  function close(origin: Origin, connection: Connection): void {
    if (origin.open.delete(connection)) void connection.destroy()
  }

  function forgetIfUnused({ url, open: connections, waiting }: Origin): void {
    if (connections.size === 0 && waiting.size === 0) origins.delete(url)
  }

  function openNew(origin: Origin): KeptConnection {
    const onClosed = (): void => {
      kept.was_closed = true
      const at = origin.idle.indexOf(kept)
      if (at < 0) return
      origin.idle.splice(at, 1)
      close(origin, kept.connection)
      forgetIfUnused(origin)
    }
    const connection = open(origin.url, onClosed)
    const kept: KeptConnection = { connection, opened_ms: clock.monotonic_ms(), was_closed: false }
    origin.open.add(connection)
    return kept
  }

  /** A connection that no request uses, or `undefined` while all are in use. */
  function take(origin: Origin): AcquiredConnection | undefined {
    for (let kept = origin.idle.pop(); kept !== undefined; kept = origin.idle.pop()) {
      if (clock.monotonic_ms() - kept.opened_ms < life_ms) return lend(origin, kept, true)
      close(origin, kept.connection)
    }
    return origin.open.size < connections_per_origin ? lend(origin, openNew(origin), false) : undefined
  }

  function lend(origin: Origin, kept: KeptConnection, was_kept: boolean): AcquiredConnection {
    const { connection } = kept
    kept.was_closed = false
    return {
      was_kept,
      dispatch: (...request) => connection.dispatch(...request),
      release(reusable) {
        if (reusable && !kept.was_closed) origin.idle.push(kept)
        else close(origin, connection)
        const [proceed] = origin.waiting
        const next = proceed && take(origin)
        if (next !== undefined) proceed?.(next)
        forgetIfUnused(origin)
      },
    }
  }

  return {
    /**
     * Returns a connection, or a promise of one while all are in use. Throws `HttpFailure` `not_sent`: `busy` when none was
     * available within `wait_ms`, `aborted` when one of the signals is aborted before. `new` closes the idle ones before,
     * because they may be stale too.
     */
    acquire(
      url: string,
      wait_ms: number,
      signals: readonly AbortSignal[],
      kind: 'any' | 'new' = 'any',
    ): AcquiredConnection | Promise<AcquiredConnection> {
      if (signals.some((signal) => signal.aborted)) throw new HttpFailure('not_sent', 'aborted')
      const origin = originOf(url)
      if (kind === 'new') for (const kept of origin.idle.splice(0)) close(origin, kept.connection)
      return take(origin) ?? wait(origin.waiting, wait_ms, signals)
    },
    async close(): Promise<void> {
      const open_connections = [...origins.values()].flatMap((origin) => [...origin.open])
      origins.clear()
      await Promise.all(open_connections.map((connection) => connection.destroy()))
    },
  }
}

function wait(
  waiting: Origin['waiting'],
  wait_ms: number,
  signals: readonly AbortSignal[],
): Promise<AcquiredConnection> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      timer.cancel()
      waiting.delete(proceed)
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
    }
    const proceed = (connection: AcquiredConnection): void => {
      end()
      resolve(connection)
    }
    const fail = (reason: 'busy' | 'aborted'): void => {
      end()
      reject(new HttpFailure('not_sent', reason))
    }
    const onAbort = (): void => fail('aborted')
    const timer = clock.after(wait_ms, () => fail('busy'))
    for (const signal of signals) signal.addEventListener('abort', onAbort)
    waiting.add(proceed)
  })
}
