import type { RouteCurrency } from './money.ts'

/** Which way the money goes: `in` is a deposit, `out` a withdrawal. */
export type Direction = 'in' | 'out'

type Pairs = Readonly<Record<string, readonly RouteCurrency[]>>

/**
 * The payment methods that exist, each with its currencies, once (P13). Routes are created within it, and everything
 * that has to have a route or a test for each pair reads it.
 */
export const PAYMENT_METHODS: { readonly [D in Direction]: Pairs } = {
  in: {
    upi: ['INR'],
    imps: ['INR'],
    havale: ['TRY'],
    papara: ['TRY'],
    kredikarti: ['TRY'],
    bank_transfer: ['MXN', 'ARS', 'AUD', 'LKR', 'TRY', 'INR'],
  },
  out: {
    imps: ['INR'],
    havale: ['TRY'],
    bank_transfer: ['MXN', 'ARS', 'AUD', 'LKR'],
  },
}

/** The currencies of a payment method in one direction; none when the method does not exist there. */
export function currenciesOf(direction: Direction, method: string): readonly RouteCurrency[] {
  const pairs = PAYMENT_METHODS[direction]
  return Object.hasOwn(pairs, method) ? (pairs[method] ?? []) : []
}

const BANK = ['bank_account', 'bank'] as const

/** Which instructions a deposit's customer gets, by method (P13). What a provider sends beyond it is dropped. */
export const INSTRUCTION_FIELDS: Readonly<
  Record<string, readonly ('deep_links' | 'qr_payload' | 'payment_url' | 'bank_account' | 'bank')[]>
> = {
  upi: ['deep_links', 'qr_payload'],
  imps: BANK,
  havale: BANK,
  bank_transfer: [...BANK, 'payment_url'],
  papara: ['payment_url'],
  kredikarti: ['payment_url'],
}
