import { ActService } from '#gen/multihub/payments/v1/act_service_pb.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { answerFindAct, type FindAct } from '#lib/patterns/find-act.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Collection } from '#lib/store/store.ts'
import { isAdmitted, type StoredPayment } from '../domain/payment.ts'
import { findRefund } from '../domain/refund.ts'

const APPROVE_REFUND = 'multihub.support.v1.RefundService/ApproveRefund'

/** Implements `ActService`: what an act of the operator has changed here (O4). */
export function createActRpc(
  findAct: FindAct,
  payments: Pick<Collection<StoredPayment>, 'find'>,
): RpcService {
  return rpcService(ActService, {
    findAct: by(['backoffice'], answerFindAct(onlyHeldRefunds(findAct, payments))),
  })
}

/**
 * An approval of a refund that was begun is done when the ledger has held its funds. When the ledger refuses, the refund is pending
 * again. Throws `Unavailable` until it has decided.
 */
function onlyHeldRefunds(findAct: FindAct, payments: Pick<Collection<StoredPayment>, 'find'>): FindAct {
  return async (audit_id, call) => {
    const act = await findAct(audit_id, call)
    if (act === undefined || call.rpc !== APPROVE_REFUND) return act
    const { refundId } = JSON.parse(call.request)
    const [payment] = await payments.find('by_act', { equals: [audit_id] }, { limit: 1 })
    const state = payment && isAdmitted(payment) ? findRefund(payment, String(refundId))?.state : undefined
    if (state === 'approving')
      throw new Unavailable('the ledger has not decided about the hold of the refund yet')
    return state === 'pending' ? undefined : act
  }
}
