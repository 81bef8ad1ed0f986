import { startTestRetention, type TestRetention } from '#lib/patterns/test-retention.ts'
import { isResolved } from '../domain/anomaly.ts'
import { hasEnded } from '../domain/erase-payment.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { ANOMALIES } from '../store/anomalies.ts'
import { PAYMENTS } from '../store/payments.ts'
import { type PaymentsStore, WITHDRAWAL_REFUSALS } from '../store/payments-store.ts'

/**
 * Deletes what has ended in the test environment (O25): payments of which nothing is open, resolved anomalies, and the records of
 * refused withdrawals. Each goes by itself, so an anomaly can be without its payment for a while. Before a payment is deleted,
 * `eraseRest` erases its person elsewhere: afterwards nothing names what is there. `stop` waits for the walks.
 */
export function startTestRetentionOfPayments(
  { payments, anomalies, withdrawal_refusals }: PaymentsStore,
  retention: TestRetention,
  eraseRest: (payment: Payment) => Promise<void>,
): { stop(): Promise<void> } {
  const walks = [
    startTestRetention(
      {
        spec: PAYMENTS,
        collection: payments,
        hasEnded,
        deleteRest: (payment) => eraseRest(requireAdmitted(payment)),
      },
      retention,
    ),
    startTestRetention({ spec: ANOMALIES, collection: anomalies, hasEnded: isResolved }, retention),
    startTestRetention(
      { spec: WITHDRAWAL_REFUSALS, collection: withdrawal_refusals, hasEnded: () => true },
      retention,
    ),
  ]
  return {
    async stop() {
      await Promise.all(walks.map((walk) => walk.stop()))
    },
  }
}
