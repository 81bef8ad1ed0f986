import type { Client } from '@connectrpc/connect'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { Publisher } from '#lib/patterns/effects/publisher.ts'
import type { EffectHandler } from '#lib/patterns/effects/runner.ts'
import type { Payment } from '../domain/payment.ts'

const LEASE_MS = 5_000
const CALL_TIMEOUT_MS = 3_000
/** With pauses that end at 2.5 to 5 min, the ledger may be away for half a day before an operator has to look. */
const LEDGER_TRIES_MAX = 200
/** While no receipts come an event is not tried at all. One that is refused for days is poison. */
const EVENT_TRIES_MAX = 10_000
const EVENT_BACKOFF = { first_ms: 1_000, max_ms: 30_000 }

/** Credits a paid deposit. The ledger gives an id one outcome for ever, so a repeat credits nothing. */
export function ledgerCreditKind(ledger: Client<typeof LedgerService>): EffectHandler<Payment> {
  return {
    lease_ms: LEASE_MS,
    tries_max: LEDGER_TRIES_MAX,
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
  }
}

/** Publishes an event until its consumer says that it has stored it. */
export function publishEventKind(publisher: Publisher): EffectHandler<Payment> {
  return {
    lease_ms: LEASE_MS,
    tries_max: EVENT_TRIES_MAX,
    backoff: EVENT_BACKOFF,
    capacity: publisher.capacity,
    async run({ data }) {
      const { event, event_key, message } = data
      if (!(message instanceof Uint8Array)) throw new TypeError('an event effect holds no message')
      await publisher.publish(`events.${event}`, String(event_key), message)
      return (current) => current
    },
  }
}
