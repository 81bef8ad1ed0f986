import { Secret } from '#lib/base/crypto/secret.ts'
import {
  createIdempotency,
  IDEMPOTENCY_COLLECTION,
  type Idempotency,
  type IdempotencyKey,
  type IdempotencyRecord,
  type SeededId,
} from '#lib/patterns/idempotency/idempotency.ts'
import { Duplicate } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { createSwitchedClockGuard, type SwitchedClockGuard } from '../support/clock-guard.ts'
import type { StoreLocation } from '../support/effects-system.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

/** The document that a step of a mutation stores under its own id. */
export interface Step {
  readonly step_id: string
  readonly label: string
}

/** An open store with the guard under test. */
export interface IdempotencySystem {
  readonly store: Store
  readonly records: Collection<IdempotencyRecord>
  readonly steps: Collection<Step>
  readonly idempotency: Idempotency
  readonly clock_guard: SwitchedClockGuard
}

/** The steps of the tested mutation. Each stores one document. */
export const STEPS = ['ticket', 'comment'] as const

/** The points at which a process of the tests can crash. The last one is after the result was written. */
export const CRASH_POINTS = ['begun', ...STEPS, 'complete'] as const

/** Opens the store and its collections. */
export async function openIdempotencySystem(store_location: StoreLocation): Promise<IdempotencySystem> {
  const { database, directory, mongodb_uri } = store_location
  const uri = mongodb_uri === undefined ? undefined : new Secret(mongodb_uri)
  const store = await openStore({ database, directory, mongodb_uri: uri, timeout_ms: HANG_LIMIT_MS })
  const records = await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION)
  const steps = await store.collection<Step>({
    name: 'steps',
    partition: ['step_id'],
    key: ['step_id'],
    indexes: { by_label: { fields: ['label'], across_partitions: true } },
  })
  const clock_guard = createSwitchedClockGuard()
  return { store, records, steps, idempotency: createIdempotency(records, clock_guard), clock_guard }
}

/** A key with this name; its other fields are fixed. */
export function keyNamed(key: string): IdempotencyKey {
  return { merchant_id: '7001', environment: 'test', method: 'ticket.create', key }
}

/** Does one step as a service does: when the id exists already, the step is done. */
export async function stepOnce({ steps }: IdempotencySystem, label: string, id: SeededId): Promise<string> {
  const step_id = id(label)
  try {
    await steps.insert({ step_id, label })
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error
  }
  return step_id
}

/** Does all steps. The result lists their ids. Calls `onPoint` before the first step and after each one. */
export async function runMutation(
  system: IdempotencySystem,
  id: SeededId,
  onPoint: (point: (typeof CRASH_POINTS)[number]) => void = () => {},
): Promise<Uint8Array> {
  onPoint('begun')
  const ids: string[] = []
  for (const label of STEPS) {
    ids.push(await stepOnce(system, label, id))
    onPoint(label)
  }
  return Buffer.from(ids.join(' '))
}
