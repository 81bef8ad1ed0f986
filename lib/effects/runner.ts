import { unhurried } from '#lib/context.ts'
import { randomFraction } from '#lib/crypto/random.ts'
import { Unavailable } from '#lib/errors/unavailable.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Fields, Stored } from '#lib/store/port.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { every, now, sleep, type Timer } from '#lib/time.ts'
import {
  claim,
  claimableAt,
  countedTries,
  type Effect,
  type EffectDocument,
  schedule,
  unblocked,
} from './effect.ts'
import { type Acted, type InHand, takeInHand } from './in-hand.ts'
import { sweep } from './sweep.ts'

/** How the outcome of an effect changes its document: pure, applied in the very write that removes the effect. */
export type Outcome<D> = (document: D) => D

/** One kind of effect: how to act, and within which limits. */
export interface EffectKind<D> {
  /** Longer than the act can take: nobody else acts before it has run out. */
  readonly lease_ms: number | ((document: D) => number)
  /** Claims after which the effect is stuck. */
  readonly tries_max: number
  /** The wait after a failed try; doubles from 1 s to 5 min unless given. */
  readonly backoff_ms?: (tries: number) => number
  /** How many more may be tried now. 0 leaves effects as they are, without a write: the bus is away, or flooded. */
  readonly capacity?: () => number
  /** Acts, idempotently by the effect's id. What it throws is a failed try. */
  run(effect: Effect, document: Stored<D>): Promise<Outcome<D>>
}

/** Writes documents that have effects, and runs those effects. */
export interface EffectRunner<D extends EffectDocument> {
  /** Inserts a document with its effects already leased to this process, so that the sweeper never races its writer. */
  insert(document: D): Promise<Stored<D>>
  /**
   * Loads, decides and writes until no other writer comes between; `undefined` from `decide` means no change. Who has
   * just read the document gives it as `read`, and the first try is spared the load.
   */
  change(
    key: Fields,
    decide: (document: Stored<D>) => D | undefined,
    read?: Stored<D>,
  ): Promise<Stored<D> | undefined>
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
  readonly kinds: Readonly<Record<string, EffectKind<D>>>
  readonly sweep_ms?: number
}

const CHANGE_TRIES = 100
/** Many writers on one document would otherwise only keep each other from getting through. */
const CONFLICTS_UNPAUSED = 5
const CONFLICT_PAUSE_MS = 100
const SWEEP_MS = 500
const WRITE_WAIT_MIN_MS = 50
const WRITE_WAIT_MAX_MS = 1_000
/** So many documents that a sweep took over may be under way at once. */
const SWEPT_MAX = 512

const failures = counter('multihub_effect_failures_total', 'Tries of effects that failed.', ['kind'])
const stuck_effects = counter('multihub_effects_stuck_total', 'Effects that used up their tries.', ['kind'])

const defaultBackoff = (tries: number): number => Math.min(1000 * 2 ** (tries - 1), 300_000)

/** Builds the runner of one collection. Kinds that it does not know are left alone: a newer process wrote them. */
export function createEffectRunner<D extends EffectDocument>(
  options: EffectRunnerOptions<D>,
): EffectRunner<D> {
  const { collection, keyOf, kinds } = options
  /** Tokens of leases that this process wrote and has not acted on yet. */
  const held = new Set<string>()
  const under_way = new Set<Promise<unknown>>()
  let sweeper: Timer | undefined
  let swept = 0
  let stopped = false

  const kindOf = (one: Effect): EffectKind<D> | undefined =>
    Object.hasOwn(kinds, one.kind) ? kinds[one.kind] : undefined

  /** How long to lease an effect for; `undefined` when it cannot be claimed here now. */
  const leaseOf = (document: D, candidate: Effect): number | undefined => {
    const kind = stopped ? undefined : kindOf(candidate)
    if (!kind || countedTries(candidate) >= kind.tries_max || (kind.capacity?.() ?? 1) <= 0) return undefined
    return typeof kind.lease_ms === 'number' ? kind.lease_ms : kind.lease_ms(document)
  }

  /** Leases what can run and writes; `drive` acts on the leases of writes that are known to have happened. */
  async function write(document: D, put: (document: D) => Promise<Stored<D>>): Promise<Stored<D>> {
    const at = now()
    const claimed = schedule(
      claim(document, at, (candidate) => leaseOf(document, candidate)),
      at,
    )
    const before = new Set(document.effects)
    const fresh = claimed.effects.flatMap((one) => (before.has(one) || !one.lease ? [] : [one.lease.token]))
    // When the write is ambiguous the document may hold these leases: they run out, and the sweeper goes on from there.
    const stored = await put(claimed)
    for (const token of fresh) held.add(token)
    return stored
  }

  const insert = (document: D): Promise<Stored<D>> => write(document, (claimed) => collection.insert(claimed))

  async function change(
    key: Fields,
    decide: (document: Stored<D>) => D | undefined,
    read?: Stored<D>,
  ): Promise<Stored<D> | undefined> {
    for (let tries = 0; tries < CHANGE_TRIES; tries++) {
      const current = tries === 0 && read ? read : await collection.get(key)
      const next = current && decide(current)
      if (!current || !next) return current
      try {
        return await write(next, (claimed) => collection.replace(claimed, current.version))
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
        if (tries >= CONFLICTS_UNPAUSED) await sleep(randomFraction() * CONFLICT_PAUSE_MS)
      }
    }
    throw new Error(`a document was changed ${CHANGE_TRIES} times by others while it was being changed`)
  }

  /** Applies outcomes whose leases are still ours. The first write trusts the document in hand: mostly it is current. */
  async function writeActed(document: Stored<D>, acted: readonly Acted<D>[]): Promise<Stored<D> | undefined> {
    const settle = (current: Stored<D>): D | undefined => {
      let next: D | undefined
      for (const { effect, apply } of acted) {
        const standing = (next ?? current).effects.find(({ id }) => id === effect.id)
        if (standing?.lease?.token === effect.lease?.token) next = apply(next ?? current)
      }
      return next
    }
    const next = settle(document)
    if (!next) return document
    try {
      return await write(next, (claimed) => collection.replace(claimed, document.version))
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      return change(keyOf(document), settle)
    }
  }

  /**
   * The acts have happened: while their leases hold, a store that is away for a moment must not make them happen again.
   * After an ambiguous write the next round finds the effects gone, and that is the end of it.
   */
  async function writeWithin(
    document: Stored<D>,
    acted: readonly Acted<D>[],
  ): Promise<Stored<D> | undefined> {
    const until_ms = Math.max(...acted.map(({ effect }) => effect.lease?.until.getTime() ?? 0))
    for (let wait_ms = WRITE_WAIT_MIN_MS; ; wait_ms = Math.min(2 * wait_ms, WRITE_WAIT_MAX_MS)) {
      try {
        return await writeActed(document, acted)
      } catch (error) {
        if (!(error instanceof Unavailable) || until_ms - now().getTime() <= wait_ms || stopped) throw error
        await sleep(wait_ms)
      }
    }
  }

  /** Says once that a try failed; answers how that changes the document, however often that has to be written. */
  function failed(one: Effect, tries_max: number, wait_ms: number, error: unknown): Outcome<D> {
    const is_stuck = countedTries(one) >= tries_max
    failures.increment({ kind: one.kind })
    if (is_stuck) stuck_effects.increment({ kind: one.kind })
    const fields = { effect: one.id, kind: one.kind, attempt: one.tries, error }
    if (is_stuck) log.error(fields, 'effect stuck: it waits for the operator')
    else log.warn(fields, 'effect failed: it is tried again')
    const { lease: _released, ...rest } = one
    const replacement: Effect = {
      ...rest,
      due_at: new Date(now().getTime() + wait_ms),
      failure: error instanceof Error ? error.name : 'unknown',
      ...(is_stuck ? { stuck: true } : {}),
    }
    const replaced = (each: Effect): Effect => (each.id === one.id ? replacement : each)
    return (current) => ({ ...current, effects: current.effects.map(replaced) })
  }

  async function run(
    document: Stored<D>,
    one: Effect,
    kind: EffectKind<D>,
    in_hand: InHand<D>,
  ): Promise<Stored<D>> {
    let apply: Outcome<D>
    try {
      const outcome = await unhurried(() => kind.run(one, document))
      apply = (current) => outcome({ ...current, effects: current.effects.filter(({ id }) => id !== one.id) })
    } catch (error) {
      const wait_ms = (kind.backoff_ms ?? defaultBackoff)(countedTries(one))
      apply = failed(one, kind.tries_max, wait_ms, error)
    }
    try {
      const stored = await in_hand.finish({ effect: one, apply })
      return stored ? act(stored, in_hand) : document
    } finally {
      // `act` above is not awaited: it has begun what follows, and that is all that events wait for.
      in_hand.end(one)
    }
  }

  function behind(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch((error: unknown) => log.warn({ error }, 'effect left to the sweeper'))
      .finally(() => under_way.delete(tracked))
    under_way.add(tracked)
  }

  const drive = (document: Stored<D>): Promise<Stored<D>> => act(document, takeInHand(document, writeWithin))

  async function act(document: Stored<D>, in_hand: InHand<D>): Promise<Stored<D>> {
    const awaited: Promise<Stored<D>>[] = []
    for (const one of document.effects) {
      if (!one.lease || !held.delete(one.lease.token)) continue
      const kind = kindOf(one)
      // A lease that ran out before we came to act on it may be somebody else's by now.
      if (!kind || one.lease.until.getTime() <= now().getTime()) continue
      in_hand.begin(one)
      const work = run(document, one, kind, in_hand)
      if (one.lane !== 'event') awaited.push(work)
      behind(work)
    }
    const ends = await Promise.all(awaited)
    return ends.reduce((newest, end) => (end.version > newest.version ? end : newest), document)
  }

  function dueOf(current: D): Effect[] {
    const at_ms = now().getTime()
    return current.effects.filter((one) => unblocked(current, one) && claimableAt(one) <= at_ms)
  }

  const isExhausted = (one: Effect): boolean =>
    countedTries(one) >= (kindOf(one)?.tries_max ?? Number.POSITIVE_INFINITY)

  /** What a sweep writes for a document: claims, and a mark on what crashed on its last try. */
  function takeOver(current: Stored<D>): D | undefined {
    const due = dueOf(current)
    const exhausted = due.find(isExhausted)
    if (exhausted) return failed(exhausted, 0, 0, new Error('the process ended during the last try'))(current)
    return due.some((one) => leaseOf(current, one) !== undefined) ? current : undefined
  }

  async function look(): Promise<void> {
    const event_room = Math.min(...Object.values(kinds).map((kind) => kind.capacity?.() ?? SWEPT_MAX))
    // A visit ends with the claim: what it claimed may take as long as a provider call, and goes on behind.
    const visit = async (found: Stored<D>): Promise<boolean> => {
      if (!dueOf(found).some((one) => isExhausted(one) || leaseOf(found, one) !== undefined)) return false
      const taken = await change(keyOf(found), takeOver)
      if (!taken) return false
      swept += 1
      behind(drive(taken).finally(() => (swept -= 1)))
      return true
    }
    await sweep(collection, 'by_effects_due', SWEPT_MAX - swept, visit)
    await sweep(collection, 'by_events_due', Math.min(event_room, SWEPT_MAX - swept), visit)
  }

  return {
    insert,
    change,
    drive,
    driveBehind: (document) => behind(drive(document)),
    async retry(key, effect_id) {
      const revive = (one: Effect): Effect => {
        const { stuck: _stuck, failure: _failure, ...rest } = one
        return { ...rest, forgiven: one.tries, due_at: now() }
      }
      const stored = await change(key, (current) => {
        if (!current.effects.some((one) => one.id === effect_id && one.stuck)) return undefined
        return {
          ...current,
          effects: current.effects.map((one) => (one.id === effect_id ? revive(one) : one)),
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
