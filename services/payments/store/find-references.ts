import type { Signer } from '#lib/base/crypto/signer.ts'
import { personSubjectsIn } from '#lib/patterns/person-hashes.ts'
import {
  amountInTitle,
  type FindReferences,
  type Reference,
  type ReferenceQuery,
  referenceById,
  referencesInRanges,
} from '#lib/patterns/references.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import { isAdmitted } from '../domain/payment.ts'
import { referencesNamedBy, referenceTo } from '../domain/payment-references.ts'
import { findAnomaly } from './anomalies.ts'
import { PAYMENTS } from './payments.ts'
import { type SealedPayment, withoutPerson } from './sealed-payments.ts'

/** Finds payments by every reference to them, and by their person where the query may reveal (O6). */
export function paymentReferences(
  collection: Pick<Collection<SealedPayment>, 'find'>,
  { signWithEach }: Pick<Signer, 'signWithEach'>,
): FindReferences {
  const ofPerson = ({ text, reveal }: ReferenceQuery): readonly string[] =>
    reveal ? personSubjectsIn(text).flatMap((subject) => signWithEach(subject)) : []
  return referencesInRanges<SealedPayment>({
    collection: {
      find: (index, range, options) => collection.find(index, range, { ...options, without_body: true }),
    },
    key: PAYMENTS.key,
    rangesOf: (query) =>
      [
        ...referencesNamedBy(query.text),
        ...ofPerson(query).map((hash) => referenceTo('person_hash', hash)),
      ].map((reference) => ({
        index: 'by_id',
        equals: [reference],
        start: { environment: ' ', c_id: ' ' },
      })),
    toReference: paymentReference,
  })
}

/** Finds anomalies by their id. */
export function anomalyReferences(anomalies: Collection<Anomaly>): FindReferences {
  return referenceById(
    (id) => findAnomaly(anomalies, id),
    ({ anomaly_id: id, merchant_id, kind, resolution, environment, created_at: time }) => ({
      kind: 'anomaly',
      id,
      merchant_id,
      title: `${environment}: ${kind}, ${resolution ? 'resolved' : 'open'}`,
      time,
    }),
  )
}

/** A withdrawal that the ledger has not admitted is shown to nobody (P3). */
function paymentReference(sealed: SealedPayment): Reference | undefined {
  const payment = withoutPerson(sealed)
  if (!isAdmitted(payment)) return undefined
  const { payment_id: id, merchant_id, environment, direction, status, created_at: time } = payment
  const amount = amountInTitle({ minor: payment.amount, currency: payment.currency })
  const what = direction === 'in' ? 'deposit' : 'withdrawal'
  return { kind: 'payment', id, merchant_id, title: `${environment}: ${what} of ${amount}, ${status}`, time }
}
