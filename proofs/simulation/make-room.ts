import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { documentsOf, paymentsOf } from './invariants/judge.ts'
import { FITTING_SUM } from './workload/full-balance.ts'
import type { World } from './world/world.ts'

/**
 * Makes room for the credits that the ledger has refused, as the runbook says, and tries them again. Such a credit is known by its
 * anomaly: without one it stays.
 */
export async function makeRoom({ databases, operator }: World): Promise<void> {
  const anomalies = documentsOf<{ payment_id: string; kind: string }>(databases, 'payments', 'anomalies')
  const refused = new Set(
    anomalies.filter(({ kind }) => kind === 'ledger_refused').map(({ payment_id }) => payment_id),
  )
  if (refused.size === 0) return
  const { minor, currency } = FITTING_SUM
  const taken = { amount: { minor: -minor, currency }, reason: 'makes room', operationId: 'make-room' }
  for (const { merchant_id: merchantId, payment_id: paymentId, effects } of paymentsOf({ databases }))
    for (const { id: effectId, stuck = false } of effects) {
      if (!stuck || !refused.has(paymentId)) continue
      await operator(BalanceService).adjust({ merchantId, environment: Environment.TEST, currency, ...taken })
      await operator(PaymentService).retryEffect({ paymentId, effectId })
    }
}
