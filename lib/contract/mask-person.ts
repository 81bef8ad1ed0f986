import { clone } from '@bufbuild/protobuf'
import { type Payment, PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'

/** How many characters a masked text shows, and how long it must be so that they are the smaller part of it. */
const SHOWN = 4
const SHOWN_FROM = 9

/** A text of which the last four characters can be read at most (O11), and none of a short one, such as a name. */
export function masked(text: string): string {
  return text.length < SHOWN_FROM ? '****' : `****${text.slice(-SHOWN)}`
}

/** The payment as a caller sees it who must not know the person: each text that identifies one is masked. */
export function maskPayment(payment: Payment): Payment {
  const shown = clone(PaymentSchema, payment)
  const { details, receiver, redirect } = shown
  maskFields(details?.payer, ['email', 'phone'])
  maskFields(details?.payer?.person, ['firstName', 'lastName'])
  maskFields(details?.payer?.customerAccount, ['id'])
  maskFields(receiver, ['phone', 'qrPayload'])
  maskFields(receiver?.bankAccount, ['id', 'name'])
  maskFields(receiver?.document, ['number'])
  maskFields(redirect, ['toUrl'])
  if (redirect) redirect.toLinks = redirect.toLinks.map(masked)
  return shown
}

function maskFields<Name extends string>(
  message: { [Field in Name]?: string | undefined } | undefined,
  names: readonly Name[],
): void {
  for (const name of names) if (message?.[name] !== undefined) message[name] = masked(message[name])
}
