import { randomFraction } from '#lib/base/crypto/random.ts'
import { every, now, type Timer, withTimeout } from '#lib/base/time.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { BackgroundWork } from '../background-work.ts'
import { createBudget } from './budget.ts'
import {
  dueAgain,
  dueEffects,
  type Effect,
  type EffectDocument,
  LANES,
  type Lane,
  leasableAtMs,
} from './effect.ts'
import type { EffectCapacity, Reserve } from './leases.ts'
import { recordFailure } from './outcomes.ts'
import type { Runs } from './runs.ts'
import { createSweepWalk } from './sweep-walk.ts'
import type { EffectWrites } from './writes.ts'

interface SweepOptions<D extends EffectDocument> {
  readonly name: string
  readonly collection: Collection<D>
  readonly capacity: EffectCapacity<D>
  readonly writes: EffectWrites<D>
  readonly runs: Pick<Runs, 'divide'>
  /** Runs what was leased. Resolves when that has ended, and never rejects. */
  readonly runEffects: (document: Stored<D>) => Promise<void>
  /** The pause between two sweeps: effects that hang do not delay the next one by more. */
  readonly sweep_ms: number
}

/**
 * The number of effects of one lane that sweeps have leased and that may run at once. The lane `external` has no limit of
 * its own: each of its kinds has a budget, so that one party that hangs cannot use up what others need.
 */
const RUNNING_MAX: Readonly<Record<Lane, number>> = {
  money: 512,
  independent: 512,
  external: Number.POSITIVE_INFINITY,
  // An event waits for a receipt and costs little meanwhile. The publisher bounds what is published at once.
  event: 2_048,
}

/**
 * A walk that leased this many found a backlog: the next one follows when half of them have run, without the pause. Without
 * this, a budget of 64 would bound a lane to 64 effects per sweep.
 */
const BACKLOG = 16

/**
 * An effect that no process ran for this long after its due time is postponed. Meanwhile others may have room for it. While
 * no kind of its lane has room, it hides nothing, and stays due until there is room.
 */
const POSTPONE_AFTER_MS = 5_000
/** A postponed effect is due again after 30 to 60 s: jitter spreads effects that were due together. */
const POSTPONE_MS = 30_000

/** Starts the sweeps of all lanes. */
export function startSweeps<D extends EffectDocument>({
  background,
  ...options
}: SweepOptions<D> & { readonly background: BackgroundWork }): readonly Timer[] {
  const { sweep_ms } = options
  const onError = (error: unknown): void => log.warn({ error }, 'sweep of due effects failed')
  return LANES.map((lane) => {
    const sweep = createSweep<D>(lane, options)
    // At a time of its own: processes that started together do not sweep together.
    const first_ms = sweep_ms * randomFraction()
    return every(sweep_ms, () => background.track(sweep(), onError), onError, first_ms)
  })
}

/**
 * Makes the sweep of one lane. It runs the effects that their writer did not lease because they were due later, such as
 * an expiry or a next try, and those that a crash left. Each call walks through the lane's due index, again while there
 * is a backlog, and leases what it finds. An effect that this process cannot run, because its kind is unknown or its
 * budget has no room, is skipped, and postponed when it stays due, so that it hides nothing behind it.
 */
function createSweep<D extends EffectDocument>(
  lane: Lane,
  { name, collection, capacity, writes, runs, runEffects, sweep_ms }: SweepOptions<D>,
): () => Promise<void> {
  const lane_budget = createBudget(RUNNING_MAX[lane])

  /** Reserves effects of this lane only, so that an effect which hangs in another lane keeps no room here. */
  const reserveInLane: Reserve<D> = (document, effect) => {
    const release = effect.lane === lane ? lane_budget.reserve(document) : undefined
    if (!release) return undefined
    const reservation = capacity.reserve(document, effect)
    if (!reservation) {
      release()
      return undefined
    }
    return {
      ...reservation,
      release() {
        release()
        reservation.release()
      },
    }
  }

  let leased: Promise<void>[] = []
  const hasRoom = (): boolean => lane_budget.hasRoom() && capacity.hasRoom(lane)
  const walk = createSweepWalk(collection, lane, {
    // A visit ends when the effects are leased. They run in the background: one may take as long as a provider call.
    async visit(document) {
      const taken = await writes.takeOver(document, stickOrPostpone(lane, capacity, document), reserveInLane)
      if (taken) leased.push(runEffects(taken))
    },
    hasRoom,
    assignment: runs.divide(`${name}.${lane}`, hasRoom),
  })
  return async () => {
    do {
      leased = []
      await walk()
    } while (leased.length >= BACKLOG && (await withTimeout(halfOf(leased), sweep_ms)))
  }
}

/** Resolves with true when half of the works have ended. */
function halfOf(works: readonly Promise<void>[]): Promise<true> {
  const { promise, resolve } = Promise.withResolvers<true>()
  let running = works.length
  for (const work of works) {
    void work.then(() => {
      running -= 1
      if (running <= works.length / 2) resolve(true)
    })
  }
  return promise
}

/**
 * Changes the due effects of a lane that must not be leased here: one whose last try ended in a crash becomes stuck, and
 * one that neither this process can run nor another has run is postponed, if it could hide others. Returns the same
 * document when there are none.
 */
function stickOrPostpone<D extends EffectDocument>(lane: Lane, capacity: EffectCapacity<D>, document: D): D {
  const at = now()
  let next = document
  for (const effect of dueEffects(document, at)) {
    if (effect.lane !== lane) continue
    if (capacity.isExhausted(effect)) {
      // No more tries and no wait: it is stuck at once.
      const [tries_max, wait_ms] = [0, 0]
      const error = new Error('the process ended during the last try')
      next = recordFailure<D>(effect, tries_max, wait_ms, error)(next)
    } else if (capacity.hasRoom(lane) && !capacity.canRun(document, effect)) {
      if (at.getTime() - leasableAtMs(effect) > POSTPONE_AFTER_MS) next = postpone(next, effect, at)
    }
  }
  return next
}

function postpone<D extends EffectDocument>(document: D, postponed: Effect, at: Date): D {
  const due_at = new Date(at.getTime() + POSTPONE_MS * (1 + randomFraction()))
  return {
    ...document,
    effects: document.effects.map((effect) =>
      effect.id === postponed.id ? dueAgain(effect, due_at) : effect,
    ),
  }
}
