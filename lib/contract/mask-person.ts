import { clone, isMessage, type Message } from '@bufbuild/protobuf'
import { type Payment, PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'

/** How many characters a masked text shows, and how long it must be so that they are the smaller part of it. */
const SHOWN = 4
const SHOWN_FROM = 9

/** A text of which the last four characters can be read at most (O11), and none of a short one, such as a name. */
export function masked(text: string): string {
  return text.length < SHOWN_FROM ? '****' : `****${text.slice(-SHOWN)}`
}

/** The texts of a payment's details, receiver and redirect that tell nothing of a person. */
const PLAIN: ReadonlySet<string> = new Set([
  'multihub.payments.v1.Bank.name',
  'multihub.payments.v1.Bank.code',
  'multihub.payments.v1.Document.type',
  'multihub.payments.v1.Client.language',
  'multihub.payments.v1.Client.country',
])

/**
 * The payment as a caller sees it who must not know the person. Every text of its details, receiver and redirect is masked,
 * so that a new field is, unless `PLAIN` names it.
 */
export function maskPayment(payment: Payment): Payment {
  const shown = clone(PaymentSchema, payment)
  for (const part of [shown.details, shown.receiver, shown.redirect]) if (part) maskTexts(part)
  return shown
}

function maskTexts(message: Message): void {
  const fields = message as unknown as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith('$') || PLAIN.has(`${message.$typeName}.${name}`)) continue
    if (typeof value === 'string') fields[name] = masked(value)
    else if (Array.isArray(value)) fields[name] = value.map((text) => masked(String(text)))
    else if (isMessage(value)) maskTexts(value)
  }
}
