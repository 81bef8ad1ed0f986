import { Direction as DirectionProto } from '#gen/multihub/merchants/v1/route_pb.ts'
import type { RouteCurrency } from './money.ts'
import { createEnumMap } from './proto-fields.ts'

/** The direction of a payment: `in` is a deposit, `out` a withdrawal. */
export type Direction = 'in' | 'out'

/** The directions in RPCs. */
export const DIRECTIONS = createEnumMap<Direction, DirectionProto>({
  in: DirectionProto.IN,
  out: DirectionProto.OUT,
})

type Pairs = Readonly<Record<string, readonly RouteCurrency[]>>

/**
 * All payment methods with their currencies (P13). A route must have one of these pairs, and tests that cover every pair
 * read them from here.
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

/** The names of all payment methods of both directions. */
export const ALL_METHODS: readonly string[] = [
  ...new Set(Object.values(PAYMENT_METHODS).flatMap((pairs) => Object.keys(pairs))),
]

/** The currencies of a payment method in one direction; empty when the method does not exist in it. */
export function currenciesOf(direction: Direction, method: string): readonly RouteCurrency[] {
  const pairs = PAYMENT_METHODS[direction]
  return Object.hasOwn(pairs, method) ? (pairs[method] ?? []) : []
}

/** The fields of payment instructions (spec: Payment object). */
type InstructionField =
  | 'deep_links'
  | 'qr_payload'
  | 'payment_url'
  | 'bank_account'
  | 'bank'
  | 'phone'
  | 'document'

const TRANSFER = ['bank_account', 'bank', 'phone', 'document'] as const

/**
 * The payment instructions that the customer of a deposit gets, by method (P13). Other fields of a provider are
 * dropped.
 */
export const INSTRUCTION_FIELDS: Readonly<Record<string, readonly InstructionField[]>> = {
  upi: ['deep_links', 'qr_payload'],
  imps: TRANSFER,
  havale: TRANSFER,
  bank_transfer: [...TRANSFER, 'payment_url'],
  papara: ['payment_url'],
  kredikarti: ['payment_url'],
}
