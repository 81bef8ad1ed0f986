import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { now } from '#lib/platform/time.ts'
import { isPaid, matchesOrder, newOperation, type Operation } from '../domain/operation.ts'
import type { Order } from '../domain/order.ts'
import { paymentScenario, refundScenario, refusedScenario, type Scenario } from '../domain/scenario.ts'
import { callbackEffects } from '../effects/send-callback.ts'
import { type OperationCollection, operationKey, type StoredOperation } from '../store/operations.ts'

/** The dependencies of creating operations. `delay_ms` is how long an ordinary operation stays pending. */
export interface CreateOperationDeps {
  readonly operations: OperationCollection
  readonly runner: EffectRunner<Operation>
  readonly delay_ms: number
}

/** The result of an order. `key_conflict` means that its key names an operation with other content. */
export type CreateResult =
  | { readonly kind: 'stored'; readonly operation: StoredOperation; readonly is_new: boolean }
  | { readonly kind: 'key_conflict' }

/** Creates the operation of an order, once per key. A repeated order gets the stored operation. */
export async function createOperation(
  deps: CreateOperationDeps,
  account_id: string,
  order: Order,
): Promise<CreateResult> {
  const { operations, runner, delay_ms } = deps
  const scenario =
    order.kind === 'refund'
      ? await decideRefund(operations, account_id, order)
      : paymentScenario(order.kind, order.amount)
  const created = newOperation(account_id, order, scenario, { provider_id: uuidv7(), now: now(), delay_ms })
  const effects = callbackEffects(created, scenario.callbacks)
  const leasing_collection = { get: operations.get, insert: runner.insert }
  const { stored: operation, is_new } = await insertOrGet(leasing_collection, operationKey(created), {
    ...created,
    effects,
  })
  if (!matchesOrder(operation, order)) return { kind: 'key_conflict' }
  if (is_new) runner.runEffectsInBackground(operation)
  return { kind: 'stored', operation, is_new }
}

/** Refuses a refund of no deposit (6010), of an unpaid one (8801), in another currency (6002) or of more (6001). */
async function decideRefund(
  operations: OperationCollection,
  account_id: string,
  order: Extract<Order, { kind: 'refund' }>,
): Promise<Scenario> {
  const { deposit_idempotency_key: idempotency_key } = order
  const deposit = await operations.get(operationKey({ account_id, idempotency_key }))
  if (deposit?.kind !== 'deposit') return refusedScenario(6010)
  if (!isPaid(deposit, now())) return refusedScenario(8801)
  if (order.currency !== deposit.currency) return refusedScenario(6002)
  if (order.amount > deposit.amount) return refusedScenario(6001)
  return refundScenario(deposit.amount)
}
