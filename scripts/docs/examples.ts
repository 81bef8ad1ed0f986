import { PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { RECORDED } from '../../gateway/openapi/recorded.ts'

const block = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``

/** The recorded answer of a method, or the part of it at a path of keys. */
export function answerOf(method: string, ...path: readonly string[]): string {
  return block(path.reduce((value: unknown, key) => Object(value)[key], RECORDED.exchanges[method]?.response))
}

/** The recorded body of a callback. */
export function callbackExample(event: string): string {
  return block(RECORDED.callbacks[event])
}

/** What a customer needs of a deposit, by method of payment. */
const TO_SHOW: Readonly<Record<string, string>> = {
  upi: 'A button for each payment app: the links in `redirect.to` open it. On a computer, show `receiver.qr_payload` as a QR code.',
  imps: 'The account in `receiver.bank_account` and the bank in `receiver.bank`, and the amount to transfer.',
  havale:
    'The IBAN and its holder in `receiver.bank_account`, the bank in `receiver.bank`, and the amount to transfer.',
  papara: 'Nothing: send the customer to the page in `redirect.to`.',
  kredikarti: 'Nothing: send the customer to the page in `redirect.to`, which asks for the card.',
  bank_transfer:
    'The page in `redirect.to`, or the account in `receiver.bank_account` with the bank in `receiver.bank` and the amount.',
}

/** What to show the customer for each method of a deposit, with the parts of a recorded answer that it needs. */
export function depositMethods(): string {
  const sections = Object.entries(PAYMENT_METHODS.in).map(([method, currencies]) => {
    const { receiver, redirect } = Object(RECORDED.deposits[method])
    return `### ${method} (${currencies.join(', ')})\n\n${TO_SHOW[method]}\n\n${block({ receiver, redirect })}`
  })
  return `\n${sections.join('\n\n')}\n`
}
