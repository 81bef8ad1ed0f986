import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection } from '#lib/store/store.ts'
import { matchesOrder, newOperation, type Operation } from '../domain/operation.ts'
import type { Order } from '../domain/order.ts'
import { decideRefund, type RefundOrder } from '../domain/refund.ts'
import { paymentScenario, type Scenario } from '../domain/scenario.ts'
import { callbackEffects } from '../effects/send-callback.ts'
import { operationKey } from '../store/operations.ts'

/** The dependencies of creating operations. `delay_ms` is how long an ordinary operation stays pending. */
export interface CreateOperationDeps {
  readonly operations: Collection<Operation>
  readonly runner: EffectRunner<Operation>
  readonly delay_ms: number
}

/**
 * Creates the operation of an order, once per key: `is_new`. A repeated order gets the stored operation. `undefined` when
 * the key names an operation with other content.
 */
export async function createOperation(deps: CreateOperationDeps, account_id: string, order: Order) {
  if (order.kind !== 'refund')
    return storeOperation(deps, account_id, order, paymentScenario(order.kind, order.amount))
  // A stored refund was decided before. Another decision could count it again.
  const { idempotency_key } = order
  const operation = await deps.operations.get(operationKey({ account_id, idempotency_key }))
  if (operation) return matchesOrder(operation, order) ? { operation, is_new: false } : undefined
  const decision = await acceptRefund(deps, account_id, order)
  return decision && storeOperation(deps, account_id, order, decision.scenario)
}

async function storeOperation(
  { runner, delay_ms }: CreateOperationDeps,
  account_id: string,
  order: Order,
  scenario: Scenario,
) {
  const created = newOperation(account_id, order, scenario, { provider_id: uuidv7(), now: now(), delay_ms })
  const effects = callbackEffects(created, scenario.callbacks)
  const { stored: operation, is_new } = await runner.insertOrGet({ ...created, effects })
  if (!matchesOrder(operation, order)) return undefined
  if (is_new) runner.runEffectsInBackground(operation)
  return { operation, is_new }
}

/**
 * Decides on a refund and stores its amount with the deposit, before the refund itself. After a crash between the two
 * writes the repeated order finds its amount there.
 */
async function acceptRefund({ runner }: CreateOperationDeps, account_id: string, order: RefundOrder) {
  let decision = decideRefund(undefined, order, now())
  const key = operationKey({ account_id, idempotency_key: order.deposit_idempotency_key })
  const deposit = await runner.update(key, (current) => {
    decision = decideRefund(current, order, now())
    return decision?.deposit
  })
  if (deposit) runner.runEffectsInBackground(deposit)
  return decision
}
