import type { DescMethodUnary } from '@bufbuild/protobuf'
import { roleOf } from '#lib/rpc/service.ts'
import type { KeptAct } from '#lib/store/kept-acts.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { FindAct } from './complete-acts.ts'

/** An owner that answers later is not waited for: the answer of the act waits. */
const TIMEOUT_MS = 2_000

/**
 * Creates the look-up of an act: at the owner of its RPC, then at the others, which it may have called. Throws what a call throws,
 * because nothing is known then.
 */
export function createFindAct(callOwner: CallOwner): FindAct {
  const methods = OPERATOR_RPCS.flatMap(({ method }) =>
    method.methodKind === 'unary' && method.name === 'FindAct' ? [method] : [],
  )
  const findAt = async (method: DescMethodUnary, fields: object): Promise<KeptAct | undefined> => {
    const { isDone, before, after } = fieldsOf(await callOwner(method, fields, { timeoutMs: TIMEOUT_MS }))
    return isDone === true ? { before: String(before), after: String(after) } : undefined
  }
  return async ({ audit_id, rpc, request }) => {
    // Such as `payments` of `multihub.payments.v1.PaymentService/RetryEffect`.
    const role = rpc.split('.')[1]
    const owner = methods.find(({ parent }) => roleOf(parent) === role)
    if (owner === undefined) return undefined
    const fields = { auditId: audit_id, rpc, request }
    const found = await findAt(owner, fields)
    if (found !== undefined) return found
    const others = methods.filter((method) => method !== owner)
    return (await Promise.all(others.map((method) => findAt(method, fields)))).find(
      (act) => act !== undefined,
    )
  }
}
