import { randomHex } from '#lib/platform/crypto/random.ts'
import type { Value } from '#lib/platform/store/port.ts'

/**
 * How effects of one document relate. `money`: one after the other, in the order in which they were added. `timer`:
 * each at its own time. `event`: each at once, or when the effect that it names in `after` is gone (P9).
 */
export type Lane = 'money' | 'timer' | 'event'

/** What must follow a state change, written in the same write as that change, and removed only with its outcome. */
export interface Effect {
  /** Deterministic: the aggregate's UUID and the number of its transition. Every remote act is idempotent by it. */
  readonly id: string
  readonly kind: string
  readonly lane: Lane
  /** An effect of the same document that must be gone before this one runs. */
  readonly after?: string
  readonly data: { readonly [field: string]: Value | undefined }
  /** Claims so far, this one included: counted before the act, so that a crash counts. It only ever grows. */
  readonly tries: number
  /** So many of them the operator has forgiven: they count no more towards being stuck. */
  readonly forgiven?: number
  readonly due_at: Date
  readonly lease?: { readonly token: string; readonly until: Date }
  /** Set when its tries are used up: it waits for the operator and blocks only what depends on it. */
  readonly stuck?: boolean
  readonly failure?: string
}

/**
 * The fields that a document with effects has. The two instants are when its next effect can run; they are derived
 * by `schedule` and stand apart so that waiting events never hide money from the sweeper.
 */
export interface EffectDocument {
  readonly effects: readonly Effect[]
  readonly effects_due_at?: Date
  readonly events_due_at?: Date
  /** Since when an effect of the document is stuck; absent when none is. */
  readonly stuck_at?: Date
}

/** The indexes that a collection of such documents declares. */
export const EFFECT_INDEXES = {
  by_effects_due: { fields: ['effects_due_at'], where: 'effects_due_at', across: true },
  by_events_due: { fields: ['events_due_at'], where: 'events_due_at', across: true },
  by_stuck: { fields: ['stuck_at'], where: 'stuck_at', across: true },
} as const

/** What is needed to add an effect; it is due at once unless `due_at` says otherwise. */
export interface NewEffect {
  readonly id: string
  readonly kind: string
  readonly lane: Lane
  readonly after?: string
  readonly due_at?: Date
  readonly data?: { readonly [field: string]: Value | undefined }
}

/** An effect that has not been tried yet. `at` is the instant of the change that it follows. */
export function effect(description: NewEffect, at: Date): Effect {
  const { data = {}, due_at = at, ...rest } = description
  return { ...rest, data, due_at, tries: 0 }
}

/** The tries that count towards being stuck, and by which a failing effect backs off. */
export function countedTries({ tries, forgiven = 0 }: Effect): number {
  return tries - forgiven
}

/** Whether nothing of the same document stands in the way of an effect (its own time and lease aside). */
export function unblocked(document: EffectDocument, candidate: Effect): boolean {
  if (candidate.stuck) return false
  if (candidate.after !== undefined && document.effects.some(({ id }) => id === candidate.after)) return false
  if (candidate.lane !== 'money') return true
  return document.effects.find(({ lane }) => lane === 'money') === candidate
}

/** When an unblocked effect may be claimed: at its time, and not before another's lease has run out. */
export function claimableAt(candidate: Effect): number {
  return Math.max(candidate.due_at.getTime(), candidate.lease?.until.getTime() ?? 0)
}

/** The document with its scheduling fields in accordance with its effects. Everything that is written goes through it. */
export function schedule<D extends EffectDocument>(document: D, at: Date): D {
  let effects_due = Number.POSITIVE_INFINITY
  let events_due = Number.POSITIVE_INFINITY
  for (const candidate of document.effects) {
    if (!unblocked(document, candidate)) continue
    const time = claimableAt(candidate)
    if (candidate.lane === 'event') events_due = Math.min(events_due, time)
    else effects_due = Math.min(effects_due, time)
  }
  const { effects_due_at, events_due_at, stuck_at, ...rest } = document
  const stuck = document.effects.some((one) => one.stuck)
  return {
    ...rest,
    ...(effects_due === Number.POSITIVE_INFINITY ? {} : { effects_due_at: new Date(effects_due) }),
    ...(events_due === Number.POSITIVE_INFINITY ? {} : { events_due_at: new Date(events_due) }),
    ...(stuck ? { stuck_at: stuck_at ?? at } : {}),
  } as D
}

/** For how many milliseconds to lease an effect; `undefined` when the runner cannot take it now. */
export type LeaseOf = (candidate: Effect) => number | undefined

/**
 * Leases to the caller every effect that can run at `at` and that `leaseOf` accepts, each under a token of its
 * own, and counts the try. Answers the document itself when there is nothing to claim.
 */
export function claim<D extends EffectDocument>(document: D, at: Date, leaseOf: LeaseOf): D {
  let changed = false
  const effects = document.effects.map((candidate) => {
    if (!unblocked(document, candidate) || claimableAt(candidate) > at.getTime()) return candidate
    const lease_ms = leaseOf(candidate)
    if (lease_ms === undefined) return candidate
    changed = true
    const lease = { token: randomHex(12), until: new Date(at.getTime() + lease_ms) }
    return { ...candidate, lease, tries: candidate.tries + 1 }
  })
  return changed ? { ...document, effects } : document
}
