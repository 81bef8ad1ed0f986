import type { BackoffBounds } from '#lib/base/backoff.ts'
import type { Stored, Value } from '#lib/store/store.ts'
import type { Budget } from './budget.ts'
import { createEffect, type Effect, type EffectDocument, type Lane, type StoredEffectData } from './effect.ts'

/** The fields of an effect's data, each with the check of its stored value. */
type DataFields = Readonly<Record<string, (value: unknown) => value is Value | undefined>>

/** The typed data that a set of fields describes. */
type DataOf<Fields extends DataFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends (value: unknown) => value is infer T ? T : never
}

/** The check of a field that contains text. */
export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** The check of a field that contains bytes. */
export function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

/** The check of a field that contains an instant. */
export function isInstant(value: unknown): value is Date {
  return value instanceof Date
}

/** The check of a field that contains a whole number, or that effects of earlier releases do not have. */
export function isAbsentOrInteger(value: unknown): value is number | undefined {
  return value === undefined || Number.isSafeInteger(value)
}

/** The check of a field that contains text, or that some effects of the kind do not have. */
export function isAbsentOrText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

/** Makes the check of a field that contains one of these names. */
export function isOneOf<Name extends string>(names: readonly Name[]): (value: unknown) => value is Name {
  return (value): value is Name => names.some((name) => name === value)
}

interface EffectKindSpec<Source, Fields extends DataFields> {
  /** The name under which the effect is stored. Processes of other releases know the effect by it. */
  readonly kind: string
  readonly lane: Lane
  readonly data: Fields
  /** The id of the effect, derived from the document and the data, so that a repetition has the same id. */
  readonly id: (source: Source, data: DataOf<Fields>) => string
}

/** The times and the dependency of a new effect. */
export interface EffectTiming {
  /** The time of the change that the effect follows. */
  readonly at: Date
  /** When the effect is due; `at` unless given. */
  readonly due_at?: Date
  /** The id of the effect that must be gone first. */
  readonly after?: string | undefined
}

/** A stored effect with its data decoded. */
export interface TypedEffect<Data> extends Omit<Effect, 'data'> {
  readonly data: Data
}

/** How the result of an effect changes its document. Pure: it is applied in the write that removes the effect. */
export type DocumentChange<D> = (document: D) => D

/** The limits within which one kind of effect runs. */
interface EffectLimits<D> {
  /**
   * The lease of one try. It must outlast the act, because another process may act when it has expired. For a repeated
   * effect it is the time until the next run.
   */
  readonly lease_ms: number | ((document: D, effect: Effect) => number)
  /**
   * A repeated effect is a question, such as a poll: it is asked again each time its lease expires, until a change of the
   * document drops it. A run that changes nothing costs no write after the write of its lease. Its change is applied also
   * when the lease has expired or the effect is gone, so it must be right at any time, any number of times.
   */
  readonly repeats?: boolean
  /** The number of tries after which the effect is stuck; infinite for a repeated effect. */
  readonly tries_max: number
  /** The bounds of the pauses after failed tries; from 1 s to 5 min unless given. */
  readonly backoff?: BackoffBounds
  /**
   * Recognizes a failure that no repetition can change, such as a refusal: the effect is stuck at once, and the returned
   * change is applied with it. `undefined` for any other failure, which is tried again.
   */
  readonly onRefusal?: (error: unknown, effect: Effect) => DocumentChange<D> | undefined
  /**
   * Bounds how many effects of the kind are leased at once. Without room an effect is left as it is, also by the writer
   * of its document. Required for kinds of the lane `external`. A function chooses the budget by the data of the effect.
   */
  readonly budget?: Budget<D> | ((effect: Effect) => Budget<D>)
}

/** How to run one kind of effect. */
export interface EffectHandler<D extends EffectDocument, Data> extends EffectLimits<D> {
  /** Acts, idempotently by the effect's id. A thrown error is a failed try. */
  readonly run: (effect: TypedEffect<Data>, document: Stored<D>) => Promise<DocumentChange<D>>
}

/** An effect with its handler: what a runner needs. Its `run` takes the effect as stored. */
export interface BoundEffect<D extends EffectDocument> extends EffectLimits<D> {
  readonly kind: string
  readonly lane: Lane
  readonly run: (effect: Effect, document: Stored<D>) => Promise<DocumentChange<D>>
}

/** One kind of effect: makes effects of that kind, recognizes them and binds their handler. */
export interface EffectDefinition<Source, Data> {
  readonly kind: string
  /**
   * Makes the effect of this document. Nothing runs yet: the caller adds the effect to the document's `effects`, and a
   * runner runs it after the write of the document.
   */
  newEffect(source: Source, data: Data, timing: EffectTiming): Effect
  /** Whether an effect is of this kind. */
  matches(effect: Effect): boolean
  /** The decoded data of an effect; `undefined` when it is of another kind. */
  dataOf(effect: Effect): Data | undefined
  bind<D extends EffectDocument>(handler: EffectHandler<D, Data>): BoundEffect<D>
}

/**
 * Defines one kind of effect. The definition is the only place that knows the stored name, the id and the encoding of
 * the data, so that the code that adds an effect and the code that runs it cannot disagree. Example:
 * `services/payments/domain/payment-effects.ts`.
 */
export function defineEffect<Source, const Fields extends DataFields>(
  spec: EffectKindSpec<Source, Fields>,
): EffectDefinition<Source, DataOf<Fields>> {
  const { kind, lane, data: fields, id } = spec
  return {
    kind,
    newEffect(source, data, { at, due_at = at, after }) {
      // The checks of the fields accept values of the store only, which the compiler cannot derive here.
      const encoded = data as StoredEffectData
      return createEffect({ id: id(source, data), kind, lane, after, due_at, data: encoded }, at)
    },
    matches: (effect) => effect.kind === kind,
    dataOf: (effect) => (effect.kind === kind ? decode(kind, fields, effect.data) : undefined),
    bind({ run, ...limits }) {
      if (lane === 'external' && !limits.budget)
        throw new TypeError(`the external effect ${kind} has no budget`)
      if (limits.repeats && Number.isFinite(limits.tries_max))
        throw new TypeError(`the repeated effect ${kind} has a limit of tries`)
      return {
        ...limits,
        kind,
        lane,
        run: (effect, document) => run({ ...effect, data: decode(kind, fields, effect.data) }, document),
      }
    },
  }
}

function decode<Fields extends DataFields>(
  kind: string,
  fields: Fields,
  stored: StoredEffectData,
): DataOf<Fields> {
  for (const [name, isValid] of Object.entries(fields)) {
    if (!isValid(stored[name])) throw new TypeError(`the stored effect ${kind} has an invalid field ${name}`)
  }
  return stored as DataOf<Fields>
}
