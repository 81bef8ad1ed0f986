import { idFromHash, sha256Hex } from '#lib/base/crypto/hash.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { withTimeout } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { BackgroundWork } from '#lib/patterns/background-work.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { startDueWalk } from '#lib/patterns/due-walk.ts'
import {
  findDone,
  type RequestedOperation,
  requestedOperation,
  withDone,
} from '#lib/patterns/idempotency/done-operations.ts'
import { canonicalJson, payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import { insertOrGet, update } from '#lib/patterns/update.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { queueAgain } from '../domain/attempt.ts'
import { breakerState } from '../domain/breaker.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import { type DeliverySelection, isSelected, planFilter, type Replay } from '../domain/delivery-filter.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Destinations, Replays } from '../store/notifier-store.ts'
import { getDelivery } from './list-deliveries.ts'

/** What the replay of one delivery needs. */
interface ReplayDeliveryDeps {
  readonly deliveries: Deliveries
  readonly pipeline: Pick<Pipeline, 'wake'>
  readonly destinations: Pick<Destinations, 'get' | 'find'>
  /** The present time by the clock of the store. */
  storeNow(): Date
}

/** How a replay is asked for. */
interface ReplayOptions {
  /** Queues also while the breaker of the destination is open. */
  readonly is_anyway?: boolean
  /** Empty for a replay that is never repeated. */
  readonly operation_id?: string
}

/**
 * Queues one dead delivery again (N6), once per `operation_id`, and returns it. A delivery that waits already is returned as it is. A
 * repetition returns the delivery in whatever status it is by then. Throws 1003 for an unknown delivery, 9000 for a delivered one, 8801
 * for an erased one, and 1013 for an `operation_id` of another request. While the breaker of its destination is open it throws 8801,
 * unless it is queued anyway: then it would only wait there.
 */
export async function replayDelivery(
  deps: ReplayDeliveryDeps,
  delivery_id: string,
  { is_anyway = false, operation_id = '' }: ReplayOptions = {},
): Promise<Delivery> {
  const replay = requestedOperation(operation_id, { is_anyway })
  const found = await getDelivery(deps.deliveries, delivery_id)
  const is_repetition = findDone(found.replays, replay) !== undefined
  if (!is_repetition) await checkReplay(deps, found, is_anyway)
  const queued = is_repetition ? undefined : await requeueDead(deps, found, replay)
  const present = queued ?? found
  // Also when it was queued before: the process that queued it may have crashed before this.
  if (present.status === 'pending' || !is_repetition) await deps.pipeline.wake(present)
  return present
}

async function checkReplay(deps: ReplayDeliveryDeps, found: Delivery, is_anyway: boolean): Promise<void> {
  if (found.erased_at !== undefined)
    throw new PublicError(8801, {
      details: { description: 'delivery_id', reason: 'what it said was erased' },
    })
  if (found.status === 'delivered')
    throw fieldError(9000, 'delivery_id', 'this callback was delivered; only others can be sent again')
  if (found.status === 'dead' && !is_anyway) await refuseWhileOpen(deps, [found.destination_key])
}

/** Throws 8801, which names the destination, when the breaker of one of these destinations is open. */
async function refuseWhileOpen(
  { destinations, storeNow }: Pick<ReplayDeliveryDeps, 'destinations' | 'storeNow'>,
  destination_keys: readonly string[],
): Promise<void> {
  const [open] = await findOpen({ destinations, storeNow }, destination_keys)
  if (open === undefined) return
  throw new PublicError(8801, {
    details: {
      description: 'delivery_id',
      reason: `the breaker of the destination ${open} is open; wait for it, or set queue_anyway`,
    },
  })
}

/** The destinations among these whose breaker is open. */
async function findOpen(
  { destinations, storeNow }: Pick<ReplayDeliveryDeps, 'destinations' | 'storeNow'>,
  destination_keys: readonly string[],
): Promise<readonly string[]> {
  const found = await Promise.all(
    [...new Set(destination_keys)].map((destination_key) => destinations.get({ destination_key })),
  )
  const at = storeNow()
  return found.flatMap((one) =>
    one && breakerState(one.breaker, at) === 'open' ? [one.destination_key] : [],
  )
}

/**
 * Queues a dead delivery again under its old id, with fresh tries (N6). Returns the delivery; `undefined` when it is not
 * dead any more, or when the same `replay` queued it before. The caller wakes its destination.
 */
export async function requeueDead(
  { deliveries, storeNow }: Pick<ReplayDeliveryDeps, 'deliveries' | 'storeNow'>,
  dead: Delivery,
  replay?: RequestedOperation,
): Promise<Delivery | undefined> {
  let is_queued = false
  const stored = await update(deliveries, deliveryKeyOf(dead), (current) => {
    const is_repetition = replay !== undefined && findDone(current.replays, replay) !== undefined
    is_queued = current.status === 'dead' && current.erased_at === undefined && !is_repetition
    if (!is_queued) return undefined
    const replays = replay && withDone(current.replays, replay, storeNow())
    return { ...queueAgain(current, storeNow()), ...(replays && { replays }) }
  })
  return is_queued ? stored : undefined
}

/** What replays by filter need. */
export interface ReplayDeliveriesDeps extends ReplayDeliveryDeps {
  readonly replays: Replays
  readonly background: BackgroundWork
  isStopping(): boolean
}

const BATCH_SIZE = 100
/** After this time without progress another notifier goes on. */
const LEASE_MS = 30_000
/** A small replay has ended when its request is answered. */
const ANSWER_MAX_MS = 2_000
const KEPT_MS = 90 * 86_400_000

/**
 * Begins to queue all dead deliveries of a selection (N6), once per merchant and `operation_id`, or to count them. Returns the replay
 * after a moment; a repetition gets the same replay as it is by then. Throws 8801 while the breaker of a destination of the first batch
 * is open, unless they are queued anyway, and 1013 for an `operation_id` of another request. Later deliveries with an open breaker are
 * skipped.
 */
export async function replayDeliveries(
  deps: ReplayDeliveriesDeps,
  selection: DeliverySelection,
  is_dry_run: boolean,
  { is_anyway = false, operation_id = '' }: ReplayOptions = {},
): Promise<Replay> {
  const { replays, background, storeNow } = deps
  // A dry run changes nothing, so that it needs no id.
  const operation =
    is_dry_run || operation_id === '' ? undefined : operationOf(selection, is_anyway, operation_id)
  const begun = operation && (await replays.get({ replay_id: operation.replay_id }))
  if (begun !== undefined) return sameReplay(begun, operation)
  if (!is_dry_run && !is_anyway) {
    const { dead } = await readBatch(deps, selection)
    await refuseWhileOpen(
      deps,
      dead.map(({ destination_key }) => destination_key),
    )
  }
  const created_at = storeNow()
  const replay = {
    ...selection,
    created_to: selection.created_to ?? created_at,
    ...(operation ?? { replay_id: uuidv7() }),
    is_dry_run,
    is_anyway,
    matched: 0,
    queued: 0,
    created_at,
    wake_at: new Date(created_at.getTime() + LEASE_MS),
    kept_until: new Date(created_at.getTime() + KEPT_MS),
  }
  const { stored, is_new } = await insertOrGet<Replay>(replays, { replay_id: replay.replay_id }, replay)
  if (!is_new) return sameReplay(stored, operation)
  // The walk through the replays continues a replay that ended early.
  const onInterrupted = (error: unknown): void =>
    log.warn({ error }, 'a replay was interrupted; a notifier goes on with it')
  await withTimeout(background.track(runReplay(deps, stored), onInterrupted), ANSWER_MAX_MS)
  return await getReplay(deps, replay.replay_id)
}

/** The id of the replay that a request begins, which its repetition finds. */
function operationOf(
  { created_from, created_to, ...others }: DeliverySelection,
  is_anyway: boolean,
  operation_id: string,
) {
  const times = { created_from: created_from?.toISOString(), created_to: created_to?.toISOString() }
  return {
    replay_id: idFromHash(sha256Hex(canonicalJson(['replay', others.merchant_id, operation_id]))),
    payload_hash: payloadHash({ ...others, ...times, is_anyway }),
  }
}

/** The replay that a repeated request has begun before. Throws 1013 when it was another request. */
function sameReplay(begun: Replay, operation: Pick<Replay, 'payload_hash'> | undefined): Replay {
  if (begun.payload_hash !== operation?.payload_hash) throw new PublicError(1013)
  return begun
}

/** Reads a replay. Throws 1003 when it does not exist. */
export async function getReplay({ replays }: ReplayDeliveriesDeps, replay_id: string): Promise<Replay> {
  const replay = await replays.get({ replay_id })
  if (replay === undefined) throw new PublicError(1003, { details: { description: 'replay_id' } })
  return replay
}

/**
 * Goes on with a replay from its stored position until it ends, another notifier goes on with it, or the process stops. A
 * batch that is repeated after a crash finds its deliveries queued already.
 */
export async function runReplay(deps: ReplayDeliveriesDeps, stored: Stored<Replay>): Promise<void> {
  let replay = stored
  try {
    await wakeDestinations(deps, replay)
    while (replay.ended_at === undefined && !deps.isStopping()) replay = await nextBatch(deps, replay)
  } catch (error) {
    // Another notifier has made progress meanwhile, so it goes on.
    if (!(error instanceof Conflict)) throw error
  }
}

/**
 * Handles the next deliveries of a replay; returns the replay after them. Their destinations are stored before the first
 * is queued: after a crash, a queued one is not found as dead again, and no notifier would look at it.
 */
async function nextBatch(deps: ReplayDeliveriesDeps, replay: Stored<Replay>): Promise<Stored<Replay>> {
  const { replays, storeNow } = deps
  const { found, dead: matching } = await readBatch(deps, replay, replay.position)
  const dead = matching.filter(({ erased_at }) => erased_at === undefined)
  const is_checked = !replay.is_dry_run && replay.is_anyway !== true
  const open = is_checked
    ? await findOpen(
        deps,
        dead.map(({ destination_key }) => destination_key),
      )
    : []
  const sent = dead.filter(({ destination_key }) => !open.includes(destination_key))
  const { stored, queued } = replay.is_dry_run
    ? { stored: replay, queued: 0 }
    : await queueAll(deps, replay, sent)
  const counted = {
    ...stored,
    matched: replay.matched + dead.length,
    queued: replay.queued + queued,
    skipped: (replay.skipped ?? 0) + dead.length - sent.length,
    destination_keys: undefined,
  }
  const last = found.at(-1)
  const at = storeNow()
  if (last === undefined || found.length < BATCH_SIZE)
    return await replays.replace({ ...counted, ended_at: at, wake_at: undefined }, stored.version)
  const { created_at, delivery_id } = last
  const wake_at = new Date(at.getTime() + LEASE_MS)
  return await replays.replace({ ...counted, position: { created_at, delivery_id }, wake_at }, stored.version)
}

/** The next deliveries of a selection in the order of creation, and the dead ones among them. */
async function readBatch(
  { deliveries }: Pick<ReplayDeliveriesDeps, 'deliveries'>,
  selection: DeliverySelection,
  position?: Replay['position'],
) {
  const { created_from: from, created_to: to, ...others } = selection
  const filter = { ...others, status: 'dead' } as const
  const sources = planFilter(filter).ranges.map(({ index, fixed }) => ({
    index,
    range: { equals: Object.values(fixed), from, to },
    after: position && { ...fixed, merchant_id: selection.merchant_id, ...position },
  }))
  const compare = (a: Delivery, b: Delivery): number =>
    a.created_at.getTime() - b.created_at.getTime() || (a.delivery_id < b.delivery_id ? -1 : 1)
  const found = await mergeRanges(deliveries, sources, { limit: BATCH_SIZE, reverse: false, compare })
  return { found, dead: found.filter((delivery) => isSelected(delivery, filter)) }
}

/** Queues dead deliveries and wakes their destinations. Returns how many it has queued, and the replay that names those. */
async function queueAll(deps: ReplayDeliveriesDeps, replay: Stored<Replay>, dead: readonly Delivery[]) {
  if (dead.length === 0) return { stored: replay, queued: 0 }
  const destination_keys = [...new Set(dead.map(({ destination_key }) => destination_key))]
  const stored = await deps.replays.replace({ ...replay, destination_keys }, replay.version)
  const results = await Promise.all(dead.map((delivery) => requeueDead(deps, delivery)))
  await wakeDestinations(deps, stored)
  return { stored, queued: results.filter((delivery) => delivery !== undefined).length }
}

/** Makes sure that a notifier looks at the destinations of the batch in progress. */
async function wakeDestinations(
  { pipeline }: ReplayDeliveriesDeps,
  { merchant_id, destination_keys = [] }: Replay,
): Promise<void> {
  await Promise.all(
    destination_keys.map((destination_key) => pipeline.wake({ destination_key, merchant_id })),
  )
}

const WALK_MS = 5_000

/** Goes on, every few seconds, with the replays whose notifier has crashed. `stop` waits for the replays of this process. */
export function startReplayWalk(
  deps: ReplayDeliveriesDeps,
  clock_guard: ClockGuard,
): { stop(): Promise<void> } {
  const { replays, background, isStopping } = deps
  const walk = startDueWalk(replays, 'by_wake', {
    clock_guard,
    interval_ms: WALK_MS,
    failure: 'interrupted replays could not be continued',
    hasRoom: () => !isStopping(),
    visit: (replay) => runReplay(deps, replay),
  })
  return {
    async stop() {
      await walk.stop()
      await background.ended()
    },
  }
}
