import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import type { Refund } from '../domain/refund.ts'
import { findRefundBy, findRefundById } from '../store/refunds.ts'

/** Finds a merchant's refund. Throws 11001, also for a refund of another merchant or environment. */
export async function findRefund(refunds: Collection<Refund>, query: ResourceQuery): Promise<Stored<Refund>> {
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
