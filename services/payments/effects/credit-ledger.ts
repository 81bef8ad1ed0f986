import type { Client } from '@connectrpc/connect'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Payment } from '../domain/payment.ts'
import { creditLedgerEffect } from '../domain/payment-effects.ts'

const LEASE_MS = 5_000
const CALL_TIMEOUT_MS = 3_000
/** With pauses of 2.5 min on average, the ledger may be unavailable for half a day before the effect is stuck. */
const TRIES_MAX = 300

/** Posts the credit. The ledger gives each id one outcome permanently, so a repeated post credits nothing. */
export function bindCreditLedger(ledger: Client<typeof LedgerService>): BoundEffect<Payment> {
  return creditLedgerEffect.bind<Payment>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run({ id }, payment) {
      await ledger.postTransfer(
        {
          merchantId: payment.merchant_id,
          environment: environmentToProto(payment.environment),
          transferId: id,
          debit: LedgerAccount.CLEARING,
          credit: LedgerAccount.AVAILABLE,
          amount: { minor: payment.amount, currency: payment.currency },
          paymentId: payment.payment_id,
          reason: 'deposit',
        },
        { timeoutMs: CALL_TIMEOUT_MS },
      )
      return (current) => current
    },
  })
}
