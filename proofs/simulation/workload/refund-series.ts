import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { type PaymentRecord, type RefundRecord, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { SupportDeps } from './mutations.ts'
import { readRefundStatus, requestRefundOf } from './refund-desk.ts'

/** The most refunds of one payment in a series. */
const REFUNDS_MAX = 5
/** How often a refund is approved or read until it has ended. The faults of a seed may need more. */
const TRIES_MAX = 30
const PAUSE_MAX_MS = 150

const ENDED = ['completed', 'failed']

/**
 * Refunds one deposit after the other, part by part or all that is left: each refund is requested, approved and waited for,
 * so that most of them reach the provider, unlike those of the refund desk.
 */
export async function runRefundSeries(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  number: number,
): Promise<void> {
  const { history, isOpen } = deps
  const used = new Set<PaymentRecord>()
  while (isOpen()) {
    const payment = [...history.paid].find(
      (record) =>
        record.merchant_id === merchant.merchant_id && record.direction === 'in' && !used.has(record),
    )
    if (payment === undefined) await sleep(PAUSE_MAX_MS)
    else {
      used.add(payment)
      await refundInParts(deps, merchant, payment, number)
    }
  }
}

async function refundInParts(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  payment: PaymentRecord,
  number: number,
): Promise<void> {
  const { choices, history, isOpen } = deps
  const { merchant_id } = payment
  for (let count = 1; count <= REFUNDS_MAX && isOpen(); count += 1) {
    const part = Math.max(1, Math.floor(payment.amount / choices.integer(2, 6)))
    const record: RefundRecord = {
      merchant_id,
      c_id: `series-${payment.c_id}-${number}-${count}`,
      payment,
      amount: choices.chance(0.4) ? undefined : part,
    }
    history.refunds.set(recordKey(merchant_id, record.c_id), record)
    await requestRefundOf(deps, merchant, record)
    if (record.h_id !== undefined) await approveAndWait(deps, merchant, record, record.h_id)
  }
}

async function approveAndWait(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  record: RefundRecord,
  refundId: string,
): Promise<void> {
  const { choices, operator, isOpen } = deps
  for (let tries = 1; tries <= TRIES_MAX && isOpen(); tries += 1) {
    const status = await readRefundStatus(deps, merchant, record)
    if (status !== undefined && ENDED.includes(status)) return
    if (status === 'pending')
      await operator(RefundService)
        .approveRefund({ refundId })
        .catch(() => {})
    await sleep(choices.between(0, PAUSE_MAX_MS))
  }
}
