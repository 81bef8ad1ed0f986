import type { ClientOf } from '#lib/rpc/rpc.ts'
import { roleOf } from '#lib/rpc/service.ts'
import { ACT_SERVICES } from '../domain/operator-rpcs.ts'
import type { FindAct } from './complete-acts.ts'

/** An owner that answers later is not waited for: the answer of the act waits. */
const TIMEOUT_MS = 2_000

/**
 * The roles that the owner of an RPC calls for the change, by the service: a refund or chargeback of support begins in payments, and
 * the back office has a person erased, and an event triggered, by others.
 */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  'multihub.support.v1.RefundService': ['payments'],
  'multihub.support.v1.ChargebackService': ['payments'],
  'multihub.backoffice.v1.PersonalDataService': ['payments', 'support'],
  'multihub.backoffice.v1.CallbackService': ['payments', 'support'],
}

/** Creates the look-up of an act at the owner of its RPC, and where that one calls others for the change. Throws what a call throws. */
export function createFindAct(clientOf: ClientOf): FindAct {
  const clients = new Map(ACT_SERVICES.map((service) => [roleOf(service), clientOf(service)] as const))
  return async ({ audit_id, rpc, request }) => {
    // Such as `payments` of `multihub.payments.v1.PaymentService/RetryEffect`.
    const [, owner = ''] = rpc.split('.')
    const [service = ''] = rpc.split('/')
    for (const role of [owner, ...(CALLED[service] ?? [])]) {
      const fields = { auditId: audit_id, rpc, request }
      const found = await clients.get(role)?.findAct(fields, { timeoutMs: TIMEOUT_MS })
      if (found?.isDone === true) return { before: found.before, after: found.after }
    }
    return undefined
  }
}
