import type { Client } from '@connectrpc/connect'
import type { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { deleteEnded, isBeingDeleted } from '#lib/patterns/test-retention.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import type { SupportDeps } from '../../use-cases/deps.ts'
import { applyRefundChange, newRefund, type Refund, type RefundChange } from '../domain/refund.ts'
import { findRefundBy, keyOfRefund, REFUNDS } from '../store/refunds.ts'

/** What the use cases of refunds need. */
export interface RefundDeps extends SupportDeps {
  readonly refunds: Collection<Refund>
  readonly comments: Collection<Comment>
  /** Writes refunds and runs their effects. */
  readonly runner: EffectRunner<Refund>
  readonly payments: Client<typeof PaymentRefundService>
}

/**
 * Stores a status that a refund has entered, with its event. Payments reports each change until it is stored, and the caller
 * of a decision stores it too; the second one changes nothing. Throws `Unavailable` while an earlier change is missing: reports
 * can overtake each other, and this one is repeated. Throws when another refund has the merchant's reference, unless that is of the
 * test environment and its deletion has begun.
 */
export async function recordRefundChange(
  { refunds, runner }: Pick<RefundDeps, 'refunds' | 'runner'>,
  change: RefundChange,
): Promise<Stored<Refund>> {
  const stored =
    change.number === 1 ? await insert(refunds, runner, change) : await apply(refunds, runner, change)
  runner.runEffectsInBackground(stored)
  return stored
}

async function insert(
  refunds: RefundDeps['refunds'],
  runner: RefundDeps['runner'],
  change: RefundChange,
): Promise<Stored<Refund>> {
  const refund = newRefund(change)
  let { stored } = await runner.insertOrGet(refund)
  if (stored.refund_id !== refund.refund_id && isBeingDeleted(stored)) {
    await deleteEnded(REFUNDS, refunds, stored)
    stored = (await runner.insertOrGet(refund)).stored
  }
  if (stored.refund_id !== refund.refund_id)
    throw new Error(`the refund ${stored.refund_id} has the c_id of the refund ${refund.refund_id}`)
  return stored
}

async function apply(
  refunds: RefundDeps['refunds'],
  runner: RefundDeps['runner'],
  change: RefundChange,
): Promise<Stored<Refund>> {
  const { merchant_id, environment, refund_id: id } = change.refund
  const found = await findRefundBy(refunds, { merchant_id, environment, by: 'h_id', id })
  if (!found) throw new Unavailable(`the request of the refund ${id} is missing`)
  const stored = await runner.update(
    keyOfRefund(found),
    (current) => {
      const changed = applyRefundChange(current, change)
      return changed === current ? undefined : changed
    },
    found,
  )
  if (!stored) throw new Error(`the refund ${id} is gone`)
  return stored
}
