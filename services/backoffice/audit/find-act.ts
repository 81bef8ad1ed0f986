import { roleOf } from '#lib/rpc/service.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { FindAct } from './complete-acts.ts'

/** An owner that answers later is not waited for: the answer of the act waits. */
const TIMEOUT_MS = 2_000

/** Creates the look-up of an act at the owner of its RPC. Throws what the call throws. */
export function createFindAct(callOwner: CallOwner): FindAct {
  const methods = new Map(
    OPERATOR_RPCS.filter(({ method }) => method.name === 'FindAct').map(
      ({ method }) => [roleOf(method.parent), method] as const,
    ),
  )
  return async ({ audit_id, rpc, request }) => {
    // Such as `payments` of `multihub.payments.v1.PaymentService/RetryEffect`.
    const method = methods.get(rpc.split('.')[1] ?? '')
    if (method === undefined) return undefined
    const fields = { auditId: audit_id, rpc, request }
    const { isDone, before, after } = fieldsOf(await callOwner(method, fields, { timeoutMs: TIMEOUT_MS }))
    return isDone === true ? { before: String(before), after: String(after) } : undefined
  }
}
