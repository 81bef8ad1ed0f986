import type { Value } from '#lib/store/store.ts'

// The life of an effect (`runner.ts` shows the writes):
//
//   added ──▶ waits ──▶ due ──▶ leased ──▶ removed, with its outcome, in one write
//             for `after`,  ▲       │
//             its lane,     └───────┤ the try failed, or its process crashed: its run is dead, or the lease expired
//             `due_at`              └──▶ stuck after its last try ──▶ due, when the operator retries it

/**
 * How effects of one document depend on each other, and what they share with effects of other documents. An effect of any
 * lane waits until the effect that it names in `after` is gone (P9). `money` effects also run one after the other, in the
 * order in which they were added. `external` effects call a system outside of this one, which may hang; each kind has a
 * budget. `event` effects run in the background. `independent` effects are all others, such as an expiry.
 */
export type Lane = 'money' | 'independent' | 'external' | 'event'

/** All lanes. Each has a due index and a sweep of its own, so that a backlog in one lane delays no other. */
export const LANES: readonly Lane[] = ['money', 'independent', 'external', 'event']

/** The data of an effect as stored. `defineEffect` is the only place that encodes and decodes it. */
export type StoredEffectData = { readonly [field: string]: Value | undefined }

/** The right to run an effect. `run` is the run of a process that has it (`runs.ts`); earlier releases do not write it. */
export interface Lease {
  readonly token: string
  readonly until: Date
  readonly run?: string
}

/**
 * Work that must follow a change of a document. It is stored in the same write as that change, and removed in the
 * write that stores its outcome.
 */
export interface Effect {
  /** Derived from the document, so that a repetition has the same id. It makes every remote act idempotent. */
  readonly id: string
  readonly kind: string
  readonly lane: Lane
  /** The id of an effect of the same document that must be gone before this one runs. */
  readonly after?: string | undefined
  readonly data: StoredEffectData
  /** The number of leases so far. A try is counted before the act, so that a crash counts too. It only grows. */
  readonly tries: number
  /** How many of the `tries` do not count: the tries before the operator's last retry, and the tries of `putBack`. */
  readonly tries_at_retry?: number
  readonly due_at: Date
  /** When it was due for the first time; absent while that is `due_at`. Later tries keep it, so it shows the whole delay. */
  readonly first_due_at?: Date
  readonly lease?: Lease
  /** Set when all tries are used up. A stuck effect waits for the operator and blocks only what depends on it. */
  readonly stuck?: boolean
  /** The name of the error of the last failed try. */
  readonly failure?: string
}

/** The fields of a document that has effects. `withDueTimes` derives the times and the delay from `effects`. */
export interface EffectDocument {
  readonly effects: readonly Effect[]
  /** The part of the due work that the document belongs to (`slots.ts`). Its insert sets it, from its key. */
  readonly slot?: number
  readonly money_due_at?: Date
  readonly independent_due_at?: Date
  readonly external_due_at?: Date
  readonly event_due_at?: Date
  /**
   * Since when work is late although it was tried or postponed: the earliest `first_due_at` of the effects that may run.
   * Only one lane is shown, the first of `LANES` that has such an effect.
   */
  readonly delayed_lane?: Lane
  readonly delayed_since?: Date
  /** Since when an effect of the document is stuck; absent when none is. */
  readonly stuck_at?: Date
  /** Where the document was created in a trace, if that was recorded: all work on it belongs to that trace. */
  readonly traceparent?: string
}

/** The indexes that a collection of documents with effects must declare. */
export const EFFECT_INDEXES = {
  by_money_slot: { fields: ['slot', 'money_due_at'], where: 'money_due_at', across_partitions: true },
  by_independent_slot: {
    fields: ['slot', 'independent_due_at'],
    where: 'independent_due_at',
    across_partitions: true,
  },
  by_external_slot: {
    fields: ['slot', 'external_due_at'],
    where: 'external_due_at',
    across_partitions: true,
  },
  by_event_slot: { fields: ['slot', 'event_due_at'], where: 'event_due_at', across_partitions: true },
  by_delayed: { fields: ['delayed_lane', 'delayed_since'], where: 'delayed_lane', across_partitions: true },
  by_stuck: { fields: ['stuck_at'], where: 'stuck_at', across_partitions: true },
} as const

/** The field with the due time of each lane. */
const DUE_FIELDS = {
  money: 'money_due_at',
  independent: 'independent_due_at',
  external: 'external_due_at',
  event: 'event_due_at',
} as const satisfies Readonly<Record<Lane, keyof EffectDocument>>

/** When the first effect of a lane that may run is due; `undefined` when there is none. */
export function dueAt(document: EffectDocument, lane: Lane): Date | undefined {
  return document[DUE_FIELDS[lane]]
}

/** The effect, due again at `due_at`. It keeps the time at which it was due first. */
export function dueAgain(effect: Effect, due_at: Date): Effect {
  return { ...effect, due_at, first_due_at: effect.first_due_at ?? effect.due_at }
}

const FAR_FUTURE = new Date(8.64e15)

type DueField = (typeof DUE_FIELDS)[Lane]

/** What `createEffect` needs. The effect is due at once unless `due_at` is given. */
interface NewEffectFields {
  readonly id: string
  readonly kind: string
  readonly lane: Lane
  readonly after?: string | undefined
  readonly due_at?: Date
  readonly data?: StoredEffectData
}

/** Makes an effect without tries. `at` is the time of the change that it follows. */
export function createEffect(fields: NewEffectFields, at: Date): Effect {
  const { data = {}, due_at = at, ...rest } = fields
  return { ...rest, data, due_at, tries: 0 }
}

/** The number of tries that count. It decides about back-off and being stuck. */
export function countedTries({ tries, tries_at_retry = 0 }: Effect): number {
  return tries - tries_at_retry
}

/**
 * Whether the effect may run as far as the document's other effects decide: it is not stuck, and no other effect blocks
 * it. Its due time and its lease are not considered.
 */
export function mayRun(document: EffectDocument, candidate: Effect): boolean {
  if (candidate.stuck) return false
  if (candidate.after !== undefined && document.effects.some(({ id }) => id === candidate.after)) return false
  if (candidate.lane !== 'money') return true
  return document.effects.find(({ lane }) => lane === 'money') === candidate
}

/** When an effect that may run can be leased (epoch ms): at its due time, but not before its present lease expires. */
export function leasableAtMs(candidate: Effect): number {
  return Math.max(candidate.due_at.getTime(), candidate.lease?.until.getTime() ?? 0)
}

/** The effects of a document that can run at `at`. */
export function dueEffects(document: EffectDocument, at: Date): Effect[] {
  return document.effects.filter(
    (candidate) => mayRun(document, candidate) && leasableAtMs(candidate) <= at.getTime(),
  )
}

/** Derives the due times, the delay and `stuck_at` from the effects. Every write of a document goes through this function. */
export function withDueTimes<D extends EffectDocument>(document: D, at: Date): D {
  const {
    money_due_at,
    independent_due_at,
    external_due_at,
    event_due_at,
    delayed_lane,
    delayed_since,
    stuck_at,
    ...rest
  } = document
  const due: { [Field in DueField]?: Date } = {}
  const delayed = new Map<Lane, Date>()
  for (const candidate of document.effects) {
    if (!mayRun(document, candidate)) continue
    const { lane, first_due_at } = candidate
    const field = DUE_FIELDS[lane]
    const time_ms = leasableAtMs(candidate)
    const earliest_ms = due[field]?.getTime() ?? Number.POSITIVE_INFINITY
    if (time_ms < earliest_ms) due[field] = new Date(time_ms)
    if (first_due_at && first_due_at < (delayed.get(lane) ?? FAR_FUTURE)) delayed.set(lane, first_due_at)
  }
  const first_delayed = LANES.find((lane) => delayed.has(lane))
  const is_stuck = document.effects.some(({ stuck }) => stuck)
  return {
    ...rest,
    ...due,
    ...(first_delayed ? { delayed_lane: first_delayed, delayed_since: delayed.get(first_delayed) } : {}),
    ...(is_stuck ? { stuck_at: stuck_at ?? at } : {}),
  } as D
}
