import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { applyRefundChange, newRefund, type Refund, type RefundChange } from '../domain/refund.ts'
import { findRefundBy, findRefundById, keyOfRefund, type RefundQuery } from '../store/refunds.ts'

/** Finds a merchant's refund. Throws 11001, also for a refund of another merchant or environment. */
export async function findRefund(refunds: Collection<Refund>, query: RefundQuery): Promise<Stored<Refund>> {
  return existing(await findRefundBy(refunds, query))
}

/** Finds a refund of any merchant, for the operator. Throws 11001 when there is none. */
export async function getRefund(refunds: Collection<Refund>, refund_id: string): Promise<Stored<Refund>> {
  return existing(await findRefundById(refunds, refund_id))
}

function existing(refund: Stored<Refund> | undefined): Stored<Refund> {
  if (!refund) throw new PublicError(11001)
  return refund
}

/** What the use cases of refunds read and write. */
export interface RefundsDeps {
  readonly refunds: Collection<Refund>
  readonly runner: EffectRunner<Refund>
}

/**
 * Stores a status that a refund has entered, with its event. Payments reports each change until it is stored, and the caller of
 * a decision stores it too; the second one changes nothing. Throws when an earlier change is missing, or when another refund
 * has the merchant's reference.
 */
export async function recordRefundChange(deps: RefundsDeps, change: RefundChange): Promise<Stored<Refund>> {
  const stored = change.number === 1 ? await insert(deps, change) : await apply(deps, change)
  deps.runner.runEffectsInBackground(stored)
  return stored
}

async function insert({ runner }: RefundsDeps, change: RefundChange): Promise<Stored<Refund>> {
  const { stored } = await runner.insertOrGet(newRefund(change))
  if (stored.refund_id !== change.refund.refund_id)
    throw new Error(`the refund ${stored.refund_id} has the c_id of the refund ${change.refund.refund_id}`)
  return stored
}

async function apply(deps: RefundsDeps, change: RefundChange): Promise<Stored<Refund>> {
  const { merchant_id, environment, refund_id: id } = change.refund
  const found = await findRefundBy(deps.refunds, { merchant_id, environment, by: 'h_id', id })
  if (!found) throw new Error(`the request of the refund ${id} is missing`)
  const stored = await deps.runner.update(
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
