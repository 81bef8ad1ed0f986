import { fromBinary } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import {
  type Change,
  ChangeSchema,
  type ListChangesResponse,
  type RegistryService,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { clock, every, type Timer } from '#lib/base/time.ts'
import type { Bus, Message, Subscription } from '#lib/bus/bus.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { REACHABLE_MS } from './read-through-cache.ts'

/**
 * The subject on which the merchants service publishes each write as a binary `Change`. Nothing depends on a notice
 * arriving.
 */
export const CHANGES_SUBJECT = 'merchants.changed'

const POLL_INTERVAL_MS = 1_000

/**
 * The pause between two drops of entries for one change, while responses list it. While MongoDB fails over, a process of the merchants
 * service may read from the former primary, so an entry that was read after a drop may still have the version before the change.
 */
const DROP_AGAIN_MS = 5_000

/** The time limit of a call to the merchants service, for a list of changes and for an entry. */
export const READ_TIMEOUT_MS = 2_000

const age = gauge(
  'multihub_registry_cache_age_seconds',
  'Time since the merchants service last confirmed the cache: above 3 s it is unreachable, above 60 s reads are refused.',
  ['role'],
)

interface ChangeWatchOptions {
  readonly client: Pick<Client<typeof RegistryService>, 'listChanges'>
  readonly bus: Bus
  /** The role that owns the cache, for the log and the metric. */
  readonly role: string
  /** Called with each response, before `onChanges` for its changes. */
  readonly onResponse: (response: ListChangesResponse) => void
  readonly onChanges: (changes: readonly Change[]) => void
  /** Called when any entry may have changed. */
  readonly onUnknownChanges: () => void
}

/** Creates a watch. Each poll begins where the last response ended, so an outage of any length leaves no gap. */
export function createChangeWatch(options: ChangeWatchOptions) {
  const { client, bus, role, onResponse, onChanges, onUnknownChanges } = options
  const stopping = new AbortController()
  let since: Timestamp | undefined
  /** When entries were dropped for each version in the last response, on the monotonic clock. */
  let dropped: ReadonlyMap<string, number> = new Map()
  let confirmed_ms = Number.NEGATIVE_INFINITY
  let started_ms = 0
  let is_alarmed = false
  let poll_in_progress = Promise.resolve()
  let timer: Timer | undefined
  let subscription: Subscription | undefined

  const poll = async (): Promise<void> => {
    const polled_ms = clock.monotonic_ms()
    const options = { timeoutMs: READ_TIMEOUT_MS, signal: stopping.signal }
    const response = await client.listChanges({ since }, options)
    onResponse(response)
    // No response covers the entries that were read before the first poll.
    if (!since || response.tooMany || wentBack(response, since)) onUnknownChanges()
    else onChanges(response.changes.filter((change) => droppedMs(change, polled_ms) === polled_ms))
    dropped = new Map(response.changes.map((change) => [versionOf(change), droppedMs(change, polled_ms)]))
    since = response.readTime
    confirmed_ms = polled_ms
    if (is_alarmed) log.info({ role }, 'the merchants service is reachable again')
    is_alarmed = false
  }

  /** When entries were dropped last for a change: at the earlier poll, or at this one if that is too long ago. */
  const droppedMs = (change: Change, polled_ms: number): number => {
    const before_ms = dropped.get(versionOf(change)) ?? Number.NEGATIVE_INFINITY
    return change.updateTime && polled_ms - before_ms < DROP_AGAIN_MS ? before_ms : polled_ms
  }

  const failed = (error: unknown): void => {
    const lag_ms = clock.monotonic_ms() - Math.max(confirmed_ms, started_ms)
    if (is_alarmed || stopping.signal.aborted || lag_ms < REACHABLE_MS) return
    is_alarmed = true
    log.error(
      { role, lag_ms, error },
      'the merchants service cannot be reached; cached entries are served for 60 s',
    )
  }

  const tick = (): Promise<void> => {
    poll_in_progress = poll()
      .catch(failed)
      .finally(() => age.set({ role }, (clock.monotonic_ms() - Math.max(confirmed_ms, started_ms)) / 1_000))
    return poll_in_progress
  }

  const notice = (message: Message): void => onChanges([fromBinary(ChangeSchema, message.data)])

  return {
    /** The monotonic time up to which every change is known; minus infinity before the first response. */
    confirmedAtMs: () => confirmed_ms,
    async start(): Promise<void> {
      started_ms = clock.monotonic_ms()
      subscription = await bus.subscribe(CHANGES_SUBJECT, notice)
      // The merchants service may be a role of this process that starts later, so the start does not wait for it.
      void tick()
      timer = every(POLL_INTERVAL_MS, tick, failed)
    },
    async stop(): Promise<void> {
      timer?.cancel()
      stopping.abort()
      await Promise.all([subscription?.close(), poll_in_progress])
    },
  }
}

/** The text of one version of a document. A change from a release that does not report the time has the same text each time. */
function versionOf({ kind, id, updateTime }: Change): string {
  return `${kind}/${id}/${updateTime && timestampMs(updateTime)}`
}

/** Whether the clock of the merchants service was set back: changes since then may lie before the last poll. */
function wentBack(response: ListChangesResponse, since: Timestamp): boolean {
  return response.readTime !== undefined && timestampMs(response.readTime) < timestampMs(since)
}
