import { create } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ChargebackDebit } from '#gen/multihub/payments/v1/chargeback_debit_pb.ts'
import {
  type Chargeback as ChargebackProto,
  ChargebackSchema,
} from '#gen/multihub/support/v1/chargeback_pb.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/chargeback-status.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import type { Chargeback, NewChargebackFields } from './chargeback.ts'

/** The chargeback as RPCs and events carry it. */
export function chargebackToProto(chargeback: Chargeback): ChargebackProto {
  const { payment, deadline_at } = chargeback
  return create(ChargebackSchema, {
    chargebackId: chargeback.chargeback_id,
    merchantId: chargeback.merchant_id,
    environment: environmentToProto(chargeback.environment),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
    amount: { minor: chargeback.amount, currency: chargeback.currency },
    reasonCode: chargeback.reason_code,
    status: CHARGEBACK_STATUSES.toProto(chargeback.status),
    ...(deadline_at ? { deadlineTime: timestampFromDate(deadline_at) } : {}),
    history: chargeback.history.map(({ status, at, note = '' }) => ({
      status: CHARGEBACK_STATUSES.toProto(status),
      createTime: timestampFromDate(at),
      note,
    })),
    evidence: (chargeback.evidence ?? []).map((file) => ({
      attachmentId: file.attachment_id,
      name: file.name,
      mimeType: file.mime_type,
      sizeBytes: BigInt(file.size_bytes),
      createTime: timestampFromDate(file.created_at),
    })),
    createTime: timestampFromDate(chargeback.created_at),
    updateTime: timestampFromDate(chargeback.updated_at),
  })
}

/** Maps a chargeback that a payment has debited. Throws 1005 or 9000 for one that is not whole. */
export function chargebackFromDebit(proto: ChargebackDebit | undefined): NewChargebackFields {
  const debit = requiredMessage(proto, 'debit')
  const { minor, currency } = requiredMessage(debit.amount, 'debit.amount')
  const { deadlineTime } = debit
  return {
    merchant_id: requiredText(debit.merchantId, 'debit.merchant_id'),
    environment: ENVIRONMENTS.required(debit.environment, 'debit.environment'),
    chargeback_id: requiredText(debit.chargebackId, 'debit.chargeback_id'),
    payment: { payment_id: debit.paymentId, c_id: debit.paymentCId, h_id: debit.paymentHId },
    amount: minor,
    currency,
    reason_code: debit.reasonCode,
    ...(deadlineTime ? { deadline_at: timestampDate(deadlineTime) } : {}),
    created_at: timestampDate(requiredMessage(debit.createTime, 'debit.create_time')),
  }
}
