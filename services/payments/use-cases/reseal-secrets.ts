import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { update } from '#lib/patterns/update.ts'
import { type ReadDocuments, type ResealCount, resealDocuments } from '#lib/role/operations.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { resealPayment } from '../domain/reseal-payment.ts'
import { keyOfPayment, PAYMENTS } from '../store/payments.ts'
import type { PaymentsStore } from '../store/payments-store.ts'

/**
 * Encrypts the secrets of callback addresses again under the newest master key. It changes neither the number nor the times
 * of effects, so it needs no runner.
 */
export async function* resealSecrets(
  { payments }: Pick<PaymentsStore, 'payments'>,
  deps: { readonly readDocuments: ReadDocuments; readonly keyring: Keyring },
): AsyncGenerator<ResealCount> {
  yield await resealDocuments<StoredPayment>(deps, {
    spec: PAYMENTS,
    change: resealPayment,
    update: (payment, decide) => update(payments, keyOfPayment(payment), decide),
  })
}
