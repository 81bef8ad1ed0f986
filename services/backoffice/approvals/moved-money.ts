import type { DescMethodUnary, Message } from '@bufbuild/protobuf'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import type { OperatorRpc } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { MovedMoney } from './domain/approval.ts'

/** Where the amount of a request is that names only what it is about. Such amounts never change. */
const LOOK_UPS = new Map<
  OperatorRpc['method'],
  { readonly find: DescMethodUnary; readonly id: string; readonly field: string }
>([
  [
    RefundService.method.approveRefund,
    { find: RefundService.method.getRefund, id: 'refundId', field: 'refund' },
  ],
  [
    ChargebackService.method.moveChargeback,
    { find: ChargebackService.method.getChargeback, id: 'chargebackId', field: 'chargeback' },
  ],
])

/**
 * What a call would move (O17): the amount of its request, or of the refund or chargeback that it names. A settlement has neither.
 * `undefined` for a request that moves nothing: the dismissal of an anomaly. Throws NOT_FOUND and UNAVAILABLE of the owner.
 */
export async function findMovedMoney(
  { method, rightsOf }: OperatorRpc,
  request: Message,
  callOwner: CallOwner,
): Promise<MovedMoney | undefined> {
  if (rightsOf !== undefined && !rightsOf(request).includes('money')) return undefined
  const look_up = LOOK_UPS.get(method)
  if (look_up === undefined) return moneyIn(request)
  const { find, id, field } = look_up
  const found = fieldsOf(await callOwner(find, { [id]: fieldsOf(request)[id] }))[field]
  return moneyIn(found as Message)
}

function moneyIn(message: Message): MovedMoney {
  const { amount, currency } = fieldsOf(message)
  const money = typeof amount === 'object' && amount !== null ? fieldsOf(amount as Message) : {}
  const { minor } = money
  const code = money['currency'] ?? currency
  return {
    minor: typeof minor === 'bigint' ? minor : undefined,
    currency: typeof code === 'string' && code !== '' ? code : undefined,
  }
}
