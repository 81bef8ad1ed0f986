import type { StoredPayment } from './payment.ts'

/**
 * What a payment is found by besides its `payment_id` and `h_id`, with the letter that its references begin with: `u:` and the
 * UTR, for example. One index has all of them (O6).
 */
const LETTERS = { c_id: 'c', request_id: 'q', provider_id: 'p', utr: 'u', person_hash: 'h' } as const

type ReferenceType = keyof typeof LETTERS

/** The reference of a payment by one of its identifiers. */
export function referenceTo(type: ReferenceType, identifier: string): string {
  return `${LETTERS[type]}:${identifier}`
}

const C_ID_LETTER = referenceTo('c_id', '')
const PERSON_LETTER = referenceTo('person_hash', '')

/** The references to all payments that a text names by an identifier that is not a person's. */
export function referencesNamedBy(text: string): readonly string[] {
  const typed = (['c_id', 'request_id', 'provider_id', 'utr'] as const).map((type) => referenceTo(type, text))
  return isPaymentId(text) ? [text, ...typed] : typed
}

/** Whether a text can be a `payment_id` or an `h_id`, whose references have no letter. A typed text must not select another type. */
export function isPaymentId(text: string): boolean {
  return !text.includes(':')
}

/**
 * The references by which a payment is found, each once. `person_hashes` are the keyed hashes of its person. Their number is
 * bounded, as attempts and refunds are. Pure.
 */
export function referencesOf(payment: StoredPayment, person_hashes: readonly string[]): readonly string[] {
  const { payment_id, h_id, c_id, request_id, p_id, utr, attempts, refunds } = payment
  const references = [payment_id, referenceTo('c_id', c_id)]
  const add = (reference: string): void => {
    if (!references.includes(reference)) references.push(reference)
  }
  add(h_id)
  if (request_id !== undefined) add(referenceTo('request_id', request_id))
  if (p_id !== undefined) add(referenceTo('provider_id', p_id))
  if (utr !== undefined) add(referenceTo('utr', utr))
  for (const records of [attempts, refunds])
    for (const { provider_id } of records ?? [])
      if (provider_id !== undefined) add(referenceTo('provider_id', provider_id))
  for (const hash of person_hashes) add(referenceTo('person_hash', hash))
  return references
}

/**
 * The hashes of a person among the references of a stored payment; `undefined` of one that an earlier release stored, without
 * references with a letter.
 */
export function personHashesIn(references: readonly string[]): readonly string[] | undefined {
  if (!references.some((reference) => reference.startsWith(C_ID_LETTER))) return undefined
  return references
    .filter((reference) => reference.startsWith(PERSON_LETTER))
    .map((reference) => reference.slice(PERSON_LETTER.length))
}
