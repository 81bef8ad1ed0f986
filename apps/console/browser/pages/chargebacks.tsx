import type { ReactNode } from 'react'
import {
  type Chargeback,
  ChargebackSchema,
  ChargebackStatus,
} from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { type Act, moneyWords } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const { OPEN, UNDER_REVIEW, WON, LOST, ACCEPTED } = ChargebackStatus

/** An act that moves a chargeback. The server decides whether its status permits it. */
function moveTo(
  name: string,
  status: ChargebackStatus,
  from: readonly ChargebackStatus[],
  effect: (amount: string) => string,
): Act<Chargeback> {
  return {
    name,
    rights: ['money'],
    isOffered: (chargeback) => from.includes(chargeback.status),
    effects: ({ amount }) => [effect(moneyWords(amount)), 'The merchant gets a callback.'],
    inputs: [{ name: 'note', label: 'Note for the merchant', kind: 'text', is_optional: true }],
    async run({ chargebackId }, { reason, inputs }) {
      const request = { chargebackId, status, note: inputs['note'] ?? '' }
      await callRpc(ChargebackService.method.moveChargeback, request, { reason })
      return undefined
    },
  }
}

const acts: readonly Act<Chargeback>[] = [
  moveTo('Under review', UNDER_REVIEW, [OPEN], () => 'The bank reviews it. No money moves.'),
  moveTo('Won', WON, [OPEN, UNDER_REVIEW], (amount) => `The merchant gets ${amount} back. It is final.`),
  moveTo('Lost', LOST, [OPEN, UNDER_REVIEW], (amount) => `The customer keeps ${amount}. It is final.`),
  moveTo(
    'Accepted',
    ACCEPTED,
    [OPEN, UNDER_REVIEW],
    (amount) => `The merchant gives up ${amount}. It is final.`,
  ),
]

const chargebacks: ListSpec<Chargeback> = {
  path: '/chargebacks',
  title: 'Chargebacks',
  question:
    'Which payments customers dispute, and until when evidence must arrive. due:yes sorts by the deadline.',
  desc: ChargebackSchema,
  list: ChargebackService.method.listChargebacks,
  items: 'chargebacks',
  id: 'chargebackId',
  columns: [
    'chargeback_id',
    'payment_c_id',
    'merchant_id',
    'amount',
    'status',
    'deadline_time',
    'reason_code',
  ],
  filters: {
    status: 'statuses',
    merchant: 'merchant_id',
    env: 'environment',
    payment: 'payment_id',
    created: 'created_from',
    due: 'by_deadline',
  },
  get: { method: ChargebackService.method.getChargeback, field: 'chargeback' },
  acts,
  empty: 'No payment was charged back. Open a chargeback on the page of its payment.',
}

/** The list of chargebacks, with the decisions about them. */
export function ChargebacksPage(): ReactNode {
  return <ListPage spec={chargebacks} />
}
