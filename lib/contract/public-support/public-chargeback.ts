import type { Chargeback } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { CHARGEBACK_STATUSES, type ChargebackStatus } from '#lib/contract/chargeback-status.ts'
import { type AmountObject, amountObject, instantText } from '#lib/contract/public-payment/public-values.ts'

/** One status that a chargeback has had, as merchants see it. */
export interface ChargebackHistoryObject {
  readonly status: ChargebackStatus
  readonly created: string
  readonly note?: string
}

/** A chargeback as merchants see it (S10). A callback has no history, whose notes are texts of the operator (S12). */
export interface ChargebackObject {
  readonly identifiers: { readonly h_id: string }
  readonly payment: { readonly c_id: string; readonly h_id: string }
  readonly amount: AmountObject['value']
  readonly currency: string
  readonly reason_code: string
  readonly status: ChargebackStatus
  readonly deadline_at?: string
  readonly history?: readonly ChargebackHistoryObject[]
  readonly created_at: string
  readonly updated_at: string
}

/** Makes the public chargeback. Throws for a message without a required field. */
export function chargebackObject(
  chargeback: Chargeback,
  audience: 'response' | 'callback',
): ChargebackObject {
  const { createTime, updateTime, deadlineTime } = chargeback
  if (!createTime || !updateTime) throw new TypeError('a chargeback has no time')
  const { value: amount, currency } = amountObject(chargeback.amount)
  return {
    identifiers: { h_id: chargeback.chargebackId },
    payment: { c_id: chargeback.paymentCId, h_id: chargeback.paymentHId },
    amount,
    currency,
    reason_code: chargeback.reasonCode,
    status: CHARGEBACK_STATUSES.fromProtoOrThrow(chargeback.status, 'chargeback status'),
    ...(deadlineTime ? { deadline_at: instantText(deadlineTime) } : {}),
    ...(audience === 'callback' ? {} : { history: chargeback.history.map(historyObject) }),
    created_at: instantText(createTime),
    updated_at: instantText(updateTime),
  }
}

function historyObject({ status, createTime, note }: Chargeback['history'][number]): ChargebackHistoryObject {
  if (!createTime) throw new TypeError('a history entry has no time')
  return {
    status: CHARGEBACK_STATUSES.fromProtoOrThrow(status, 'chargeback status'),
    created: instantText(createTime),
    ...(note === '' ? {} : { note }),
  }
}
