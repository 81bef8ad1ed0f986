import { roleOf } from '#lib/rpc/service.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { FindAct } from './complete-acts.ts'

/** An owner that answers later is not waited for: the answer of the act waits. */
const TIMEOUT_MS = 2_000

/**
 * The roles that an owner calls for a change: a refund or chargeback of support begins in payments, and the back office has a
 * person erased where its payments or tickets are.
 */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  support: ['payments'],
  backoffice: ['payments', 'support'],
}

/** Creates the look-up of an act at the owner of its RPC, and where that one calls another for the change. Throws what a call throws. */
export function createFindAct(callOwner: CallOwner): FindAct {
  const methods = new Map(
    OPERATOR_RPCS.flatMap(({ method }) =>
      method.methodKind === 'unary' && method.name === 'FindAct'
        ? [[roleOf(method.parent), method] as const]
        : [],
    ),
  )
  return async ({ audit_id, rpc, request }) => {
    // Such as `payments` of `multihub.payments.v1.PaymentService/RetryEffect`.
    const [, owner = ''] = rpc.split('.')
    for (const role of [owner, ...(CALLED[owner] ?? [])]) {
      const method = methods.get(role)
      if (method === undefined) continue
      const fields = { auditId: audit_id, rpc, request }
      const { isDone, before, after } = fieldsOf(await callOwner(method, fields, { timeoutMs: TIMEOUT_MS }))
      if (isDone === true) return { before: String(before), after: String(after) }
    }
    return undefined
  }
}
