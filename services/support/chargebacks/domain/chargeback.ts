import { create } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ChargebackDebit } from '#gen/multihub/payments/v1/chargeback_debit_pb.ts'
import {
  type Chargeback as ChargebackProto,
  ChargebackSchema,
} from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import { requiredMessage, requiredText, timesToProto } from '#lib/contract/proto-fields.ts'
import { CHARGEBACK_STATUSES, type ChargebackStatus } from '#lib/contract/public-support.ts'
import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import { asErased, type Erasable, erasedText, withoutName } from '../../domain/erasure.ts'
import { newSupportEvent } from '../../domain/support-event.ts'
import {
  type AttachedFile,
  fileToProto,
  hasFile,
  type PaymentReference,
} from '../../domain/support-resource.ts'

/** One status that a chargeback has had. */
export interface ChargebackHistoryEntry {
  readonly status: ChargebackStatus
  readonly at: Date
  /** The operator's text for the merchant; empty when it gave none. */
  readonly note: string
}

/** A chargeback as merchants and the operator see it (S10). Its payment has debited its amount before it is stored. */
export interface Chargeback extends Erasable, MerchantScope {
  /** Its public `h_id`. */
  readonly chargeback_id: string
  readonly payment: PaymentReference
  readonly amount: bigint
  readonly currency: string
  readonly reason_code: string
  readonly status: ChargebackStatus
  readonly deadline_at?: Date | undefined
  readonly history: readonly ChargebackHistoryEntry[]
  /** The files that the operator has added. */
  readonly evidence: readonly AttachedFile[]
  readonly created_at: Date
  readonly updated_at: Date
}

/** The fields of a new chargeback. */
export type NewChargebackFields = Omit<
  Chargeback,
  'status' | 'history' | 'evidence' | 'updated_at' | keyof Erasable
>

/** The statuses that each status can lead to; a chargeback ends in those that are not in it. */
const TRANSITIONS: Readonly<Partial<Record<ChargebackStatus, readonly ChargebackStatus[]>>> = {
  open: ['under_review', 'won', 'lost', 'accepted'],
  under_review: ['won', 'lost', 'accepted'],
}

/** Whether a chargeback can change from one status to the other (S10). */
export function canMove(from: ChargebackStatus, to: ChargebackStatus): boolean {
  return TRANSITIONS[from]?.includes(to) ?? false
}

/** The effect that makes the payment credit a won chargeback back. */
export const returnAmountEffect = defineEffect({
  kind: 'return_amount',
  lane: 'money',
  data: {},
  id: ({ chargeback_id }: Chargeback) => `${chargeback_id}:return`,
})

/** A new chargeback, which is open and is announced. Pure. */
export function newChargeback(fields: NewChargebackFields): Chargeback {
  const { chargeback_id: h_id, created_at: at } = fields
  const opened: Chargeback = {
    ...fields,
    status: 'open',
    history: [{ status: 'open', at, note: '' }],
    evidence: [],
    updated_at: at,
    effects: [],
  }
  const resource = { case: 'chargeback', value: chargebackToProto(opened) } as const
  const event = newSupportEvent({ scope: opened, h_id, event: 'chargeback.created', resource, at })
  return { ...opened, effects: [event] }
}

/** The chargeback in its next status. One that the merchant has won is credited back. Pure. Throws for a forbidden change. */
export function withStatus(chargeback: Chargeback, entry: ChargebackHistoryEntry): Chargeback {
  const { status, at } = entry
  if (!canMove(chargeback.status, status))
    throw new TypeError(`forbidden chargeback transition from ${chargeback.status} to ${status}`)
  const moved: Chargeback = {
    ...chargeback,
    status,
    history: [...chargeback.history, entry],
    updated_at: at,
  }
  if (status !== 'won') return moved
  return { ...moved, effects: [...moved.effects, returnAmountEffect.newEffect(moved, {}, { at })] }
}

/** The most files of one chargeback: a page of its list holds them all. */
const EVIDENCE_MAX = 20

/** The chargeback with one more file; `undefined` when it has the file already, or has no room for it. Pure. */
export function withEvidence(chargeback: Chargeback, file: AttachedFile, at: Date): Chargeback | undefined {
  const { evidence } = chargeback
  if (hasFile(evidence, file.attachment_id) || evidence.length >= EVIDENCE_MAX) return undefined
  return { ...chargeback, evidence: [...evidence, file], updated_at: at }
}

/** The chargeback without the operator's notes and the names of its evidence (O11). Pure. Throws 8801 while effects wait. */
export function eraseChargeback(chargeback: Chargeback, at: Date): Chargeback {
  const { history, evidence, chargeback_id } = chargeback
  const erased = {
    ...chargeback,
    history: history.map((entry) => ({ ...entry, note: erasedText(entry.note) })),
    evidence: evidence.map(withoutName),
  }
  return asErased(erased, chargeback_id, at)
}

/** Since when a chargeback is over, with its last file; `undefined` while it is open. Pure. */
export function chargebackEndedSince({ status, updated_at }: Chargeback): Date | undefined {
  return TRANSITIONS[status] === undefined ? updated_at : undefined
}

/** The chargeback as RPCs and events carry it. */
export function chargebackToProto(chargeback: Chargeback): ChargebackProto {
  const { payment, deadline_at } = chargeback
  return create(ChargebackSchema, {
    chargebackId: chargeback.chargeback_id,
    ...scopeToProto(chargeback),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
    amount: { minor: chargeback.amount, currency: chargeback.currency },
    reasonCode: chargeback.reason_code,
    status: CHARGEBACK_STATUSES.toProto(chargeback.status),
    deadlineTime: deadline_at && timestampFromDate(deadline_at),
    history: chargeback.history.map(({ status, at, note }) => ({
      status: CHARGEBACK_STATUSES.toProto(status),
      createTime: timestampFromDate(at),
      note,
    })),
    evidence: chargeback.evidence.map(fileToProto),
    ...timesToProto(chargeback),
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
    deadline_at: deadlineTime && timestampDate(deadlineTime),
    created_at: timestampDate(requiredMessage(debit.createTime, 'debit.create_time')),
  }
}
