import { fromBinary } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import {
  type Change,
  ChangeSchema,
  type DirectoryService,
  type ListChangesResponse,
} from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Bus, Message, Subscription } from '#lib/platform/bus/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { clock, every, type Timer } from '#lib/platform/time.ts'
import { REACHABLE_MS } from './cache.ts'

/** Where merchants tells at once, in a binary `Change`, what it wrote. Nothing depends on a notice arriving. */
export const CHANGES_SUBJECT = 'merchants.changed'

const POLL_INTERVAL_MS = 1_000

/** How long a process waits for merchants, whether for a change list or for an entry. */
export const READ_TIMEOUT_MS = 2_000

const age = gauge(
  'multihub_directory_age_seconds',
  'Time since the registry cache was last confirmed; above 3 merchants cannot be reached, above 60 nothing is served.',
  ['role'],
)

/** What a watch needs, and whom it tells. */
export interface ChangeWatchOptions {
  readonly client: Pick<Client<typeof DirectoryService>, 'listChanges'>
  readonly bus: Bus
  /** Whose cache it is, for the log and the metric. */
  readonly role: string
  /** An answer came, before its changes are told. */
  readonly onResponse: (response: ListChangesResponse) => void
  readonly onChange: (change: Change) => void
  /** Anything may have changed. */
  readonly onUnknownChanges: () => void
}

/** Learns what changed in the registry: by asking once a second, which decides, and by notices, which only hasten. */
export interface ChangeWatch {
  /** The instant of the monotonic clock up to which every change is known; minus infinity before the first answer. */
  confirmedAtMs(): number
  start(): Promise<void>
  stop(): Promise<void>
}

/** Makes a watch. Each question begins where the answer before ended, so an outage of any length leaves no gap. */
export function createChangeWatch(options: ChangeWatchOptions): ChangeWatch {
  const { client, bus, role, onResponse: told, onChange: changed, onUnknownChanges: changedAll } = options
  const stopping = new AbortController()
  let since: Timestamp | undefined
  let confirmed_ms = Number.NEGATIVE_INFINITY
  let started_ms = 0
  let alarmed = false
  let under_way = Promise.resolve()
  let timer: Timer | undefined
  let subscription: Subscription | undefined

  const poll = async (): Promise<void> => {
    const asked_ms = clock.monotonic_ms()
    const request = since ? { since } : {}
    const response = await client.listChanges(request, {
      timeoutMs: READ_TIMEOUT_MS,
      signal: stopping.signal,
    })
    told(response)
    // What was read before the first question is in nobody's answer.
    if (!since || response.tooMany || wentBack(response, since)) changedAll()
    else for (const change of response.changes) changed(change)
    since = response.readTime
    confirmed_ms = asked_ms
    if (alarmed) log.info({ role }, 'merchants is reachable again')
    alarmed = false
  }

  const failed = (error: unknown): void => {
    const lag_ms = clock.monotonic_ms() - Math.max(confirmed_ms, started_ms)
    if (alarmed || stopping.signal.aborted || lag_ms < REACHABLE_MS) return
    alarmed = true
    log.error({ role, lag_ms, error }, 'merchants cannot be reached: cached entries are served for a minute')
  }

  const tick = (): Promise<void> => {
    under_way = poll()
      .catch(failed)
      .finally(() => age.set({ role }, (clock.monotonic_ms() - Math.max(confirmed_ms, started_ms)) / 1_000))
    return under_way
  }

  const notice = (message: Message): void => changed(fromBinary(ChangeSchema, message.data))

  return {
    confirmedAtMs: () => confirmed_ms,
    async start() {
      started_ms = clock.monotonic_ms()
      subscription = await bus.subscribe(CHANGES_SUBJECT, notice)
      // Merchants may be a role of this very process that starts after us: its absence must not stop the start.
      void tick()
      timer = every(POLL_INTERVAL_MS, tick, failed)
    },
    async stop() {
      timer?.cancel()
      stopping.abort()
      await Promise.all([subscription?.close(), under_way])
    },
  }
}

/** Whether the clock of merchants was set back, so that changes since then may lie before our last question. */
function wentBack(response: ListChangesResponse, since: Timestamp): boolean {
  return response.readTime !== undefined && timestampMs(response.readTime) < timestampMs(since)
}
