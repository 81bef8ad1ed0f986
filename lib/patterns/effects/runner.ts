import { type BackoffBounds, backoffDelay } from '#lib/platform/backoff.ts'
import { withoutDeadline } from '#lib/platform/context.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Fields, Stored } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { every, now, type Timer } from '#lib/platform/time.ts'
import { countedTries, type Effect, type EffectDocument } from './effect.ts'
import { failedTry, revived } from './failed-try.ts'
import { type InHand, takeInHand } from './outcome-batcher.ts'
import { createTakeover } from './takeover.ts'
import { createEffectWrites, type EffectWrites } from './writes.ts'

/** How the outcome of an effect changes its document: pure, applied in the very write that removes the effect. */
export type Outcome<D> = (document: D) => D

/** One kind of effect: how to act, and within which limits. */
export interface EffectHandler<D> {
  /** Longer than the act can take: nobody else acts before it has run out. */
  readonly lease_ms: number | ((document: D) => number)
  /** Claims after which the effect is stuck. */
  readonly tries_max: number
  /** The pauses after failed tries; from 1 s to 5 min unless given. */
  readonly backoff?: BackoffBounds
  /** How many more may be tried now. 0 leaves effects as they are, without a write: the bus is away, or flooded. */
  readonly capacity?: () => number
  /** Acts, idempotently by the effect's id. What it throws is a failed try. */
  run(effect: Effect, document: Stored<D>): Promise<Outcome<D>>
}

/** Writes documents that have effects, and runs those effects. */
export interface EffectRunner<D extends EffectDocument> extends Pick<EffectWrites<D>, 'insert' | 'change'> {
  /**
   * Runs what this process leased, and what follows from it. Resolves with the document when nothing but events is left
   * that could run now; they go on behind it. A failed effect does not reject it; a store that is away does.
   */
  drive(document: Stored<D>): Promise<Stored<D>>
  /** The same for a caller that does not wait. What goes wrong is logged and left to the sweeper. */
  driveBehind(document: Stored<D>): void
  /** Gives a stuck effect its tries back; `undefined` when the document is not there. */
  retry(key: Fields, effect_id: string): Promise<Stored<D> | undefined>
  /** Begins to look for what a crash or a failure left behind. */
  start(): void
  /** Claims nothing more and resolves when what is under way has ended. */
  stop(): Promise<void>
}

/** What a runner needs. `sweep_ms` is the pause between two looks for work left behind (500 ms unless given). */
export interface EffectRunnerOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly handlers: Readonly<Record<string, EffectHandler<D>>>
  readonly sweep_ms?: number
}

const SWEEP_MS = 500

const RETRY_BACKOFF = { first_ms: 1_000, max_ms: 300_000 }

/** Builds the runner of one collection. Kinds that it does not know are left alone: a newer process wrote them. */
export function createEffectRunner<D extends EffectDocument>(
  options: EffectRunnerOptions<D>,
): EffectRunner<D> {
  const { collection, keyOf, handlers } = options
  const under_way = new Set<Promise<unknown>>()
  let sweeper: Timer | undefined
  let stopped = false

  const kindOf = (one: Effect): EffectHandler<D> | undefined =>
    Object.hasOwn(handlers, one.kind) ? handlers[one.kind] : undefined

  /** How long to lease an effect for; `undefined` when it cannot be claimed here now. */
  const leaseOf = (document: D, candidate: Effect): number | undefined => {
    const kind = stopped ? undefined : kindOf(candidate)
    if (!kind || countedTries(candidate) >= kind.tries_max || (kind.capacity?.() ?? 1) <= 0) return undefined
    return typeof kind.lease_ms === 'number' ? kind.lease_ms : kind.lease_ms(document)
  }

  const writes = createEffectWrites<D>({ collection, keyOf, leaseOf, stopped: () => stopped })

  /** Resolves when the work has ended, well or not: nobody waits for it but a stop. */
  function behind(work: Promise<unknown>): Promise<unknown> {
    const tracked: Promise<unknown> = work
      .catch((error: unknown) => log.warn({ error }, 'effect left to the sweeper'))
      .finally(() => under_way.delete(tracked))
    under_way.add(tracked)
    return tracked
  }

  async function run(
    document: Stored<D>,
    one: Effect,
    kind: EffectHandler<D>,
    in_hand: InHand<D>,
  ): Promise<Stored<D>> {
    let apply: Outcome<D>
    try {
      const outcome = await withoutDeadline(() => kind.run(one, document))
      apply = (current) => outcome({ ...current, effects: current.effects.filter(({ id }) => id !== one.id) })
    } catch (error) {
      const wait_ms = backoffDelay(countedTries(one), kind.backoff ?? RETRY_BACKOFF, randomFraction())
      apply = failedTry(one, kind.tries_max, wait_ms, error)
    }
    try {
      const stored = await in_hand.finish({ effect: one, apply })
      return stored ? act(stored, in_hand) : document
    } finally {
      // `act` above is not awaited: it has begun what follows, and that is all that events wait for.
      in_hand.end(one)
    }
  }

  async function act(document: Stored<D>, in_hand: InHand<D>): Promise<Stored<D>> {
    const awaited: Promise<Stored<D>>[] = []
    for (const one of document.effects) {
      if (!writes.take(one)) continue
      const kind = kindOf(one)
      // A lease that ran out before we came to act on it may be somebody else's by now.
      if (!kind || !one.lease || one.lease.until.getTime() <= now().getTime()) continue
      in_hand.begin(one)
      const work = run(document, one, kind, in_hand)
      if (one.lane !== 'event') awaited.push(work)
      void behind(work)
    }
    const ends = await Promise.all(awaited)
    return ends.reduce((newest, end) => (end.version > newest.version ? end : newest), document)
  }

  const drive = (document: Stored<D>): Promise<Stored<D>> =>
    act(document, takeInHand(document, writes.settle))

  const look = createTakeover<D>({
    collection,
    keyOf,
    writes,
    leaseOf,
    triesMaxOf: (one) => kindOf(one)?.tries_max ?? Number.POSITIVE_INFINITY,
    eventRoom: () =>
      Math.min(...Object.values(handlers).map(({ capacity }) => capacity?.() ?? Number.POSITIVE_INFINITY)),
    drive: (document) => behind(drive(document)),
  })

  return {
    insert: writes.insert,
    change: writes.change,
    drive,
    driveBehind: (document) => void behind(drive(document)),
    async retry(key, effect_id) {
      const stored = await writes.change(key, (current) => {
        if (!current.effects.some((one) => one.id === effect_id && one.stuck)) return undefined
        return {
          ...current,
          effects: current.effects.map((one) => (one.id === effect_id ? revived(one) : one)),
        }
      })
      return stored && drive(stored)
    },
    start() {
      const watched = (): Promise<void> => {
        const looking = look().finally(() => under_way.delete(looking))
        under_way.add(looking)
        return looking
      }
      sweeper = every(options.sweep_ms ?? SWEEP_MS, watched, (error) => log.warn({ error }, 'sweep failed'))
    },
    async stop() {
      stopped = true
      sweeper?.cancel()
      while (under_way.size > 0) await Promise.allSettled(under_way)
    },
  }
}
