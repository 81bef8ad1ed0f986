import { z } from 'zod'
import { formatDecimal, parseDecimal } from '#lib/contract/decimal-amount.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import type { OperationKind } from '../../domain/call-result.ts'
import type { PersonDetails, ProviderOrder, ProviderReport } from '../connector.ts'
import { parseBody, providerTimeSchema, type ReportFields, statusOfReport } from '../provider-report.ts'

/** The paths for creates, below the base URL, by the kind of operation. */
export const CREATE_PATHS: Readonly<Record<OperationKind, string>> = {
  deposit: '/v1/collections',
  withdrawal: '/v1/payouts',
  refund: '/v1/reversals',
}

/** What the provider calls the kinds of operation. */
const KINDS: Readonly<Record<string, OperationKind>> = {
  collection: 'deposit',
  payout: 'withdrawal',
  reversal: 'refund',
}

/** What the provider calls the payment methods. */
const CHANNELS: Readonly<Record<string, string>> = {
  upi: 'UPI',
  imps: 'IMPS',
  havale: 'EFT',
  papara: 'WALLET',
  kredikarti: 'CARD',
  bank_transfer: 'BANK',
}

/** The reasons that the protocol defines. Others are the general code of the status. */
const REASONS: Readonly<Record<string, ErrorCode>> = {
  ACCOUNT_INVALID: 8600,
  BANK_UNKNOWN: 8601,
  PERSON_BLOCKED: 6013,
  CANCELED_BY_PAYER: 6012,
  LIMIT_OF_PROVIDER: 7001,
}

const visibleAsciiSchema = z.string().regex(/^[\x21-\x7e]{1,128}$/)
const wordSchema = z.string().min(1).max(64)

const transferSchema = z.object({
  id: visibleAsciiSchema,
  reference: z.string().min(1).max(128),
  type: z.string(),
  state: wordSchema,
  amount: z.string().max(32),
  currency: z.string().regex(/^[A-Z]{3}$/),
  reason: wordSchema.optional(),
  settled_at: providerTimeSchema.optional(),
  bank_reference: visibleAsciiSchema.optional(),
  pay_by: z.unknown().optional(),
})

type Transfer = z.infer<typeof transferSchema>

const createResponseSchema = z.union([
  z.strictObject({ transfer: transferSchema }),
  z.strictObject({ error: z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/) }),
])
const lookupResponseSchema = z.object({ transfers: z.array(z.unknown()).max(200) })

/** The payment methods that the provider has a name for. */
export const FORM_METHODS: readonly string[] = Object.keys(CHANNELS)

/** The form of a create; `undefined` for an amount or a method that the protocol cannot express. */
export function orderForm(order: ProviderOrder, merchant_code: string): string | undefined {
  const { amount } = order
  const channel = Object.hasOwn(CHANNELS, order.method) ? CHANNELS[order.method] : undefined
  if (channel === undefined || amount.minor < 1n || amount.minor > AMOUNT_MAX) return undefined
  const fields = {
    merchant_code,
    reference: order.idempotency_key,
    amount: formatDecimal(amount),
    currency: amount.currency,
    channel,
    ...detailsOf(order),
  }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
  return form.toString()
}

/** The fields of a form. Those without a value are not sent. */
type Fields = Readonly<Record<string, string | undefined>>

function detailsOf(order: ProviderOrder): Fields {
  switch (order.kind) {
    case 'deposit': {
      const { customer_account_id: customer, ...person } = order.payer
      return { expires_at: order.expires_at.toISOString(), customer, ...personFields(person) }
    }
    case 'withdrawal': {
      const { account_id, ifsc, bank_code, ...person } = order.beneficiary
      return { account: account_id, bank: ifsc ?? bank_code, ...personFields(person) }
    }
    case 'refund':
      return { collection: order.deposit_idempotency_key }
  }
}

function personFields({ email, phone, first_name, last_name }: PersonDetails): Fields {
  const name = [first_name, last_name].filter((part) => part !== undefined).join(' ')
  return { email, phone, name: name === '' ? undefined : name }
}

/**
 * Parses the response to a create: a report, or the refusal of the request. `is_defined`: the protocol defines its reason.
 * `undefined` when the response is invalid.
 */
export function parseCreateResponse(body: Uint8Array) {
  const response = parseBody(createResponseSchema, body)
  if (response === undefined) return undefined
  if ('error' in response) {
    const { error } = response
    const is_defined = Object.hasOwn(REASONS, error)
    return { kind: 'refusal' as const, code: codeOf(error, 7001), is_defined }
  }
  const report = toReport(response.transfer)
  return report && { kind: 'report' as const, report }
}

/**
 * Parses the response to a lookup: the transfers that it found. One that is not valid may be any of those that were asked for.
 * `undefined` when it is invalid as a whole.
 */
export function parseLookupResponse(body: Uint8Array) {
  const response = parseBody(lookupResponseSchema, body)
  if (response === undefined) return undefined
  const reports = response.transfers.flatMap((transfer) => {
    const { data } = transferSchema.safeParse(transfer)
    return (data && toReport(data)) ?? []
  })
  return { reports, are_all_valid: reports.length === response.transfers.length }
}

/** The states that the protocol defines. */
const STATES: Readonly<Record<string, ReportFields['status']>> = {
  SETTLED: 'success',
  FAILED: 'declined',
  VOIDED: 'canceled',
}

function toReport(transfer: Transfer): ProviderReport | undefined {
  const { id: provider_id, reference: idempotency_key, type, state, reason } = transfer
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  const amount = parseDecimal(transfer.amount, transfer.currency)
  // An unreadable amount is invalid.
  if (kind === undefined || amount === undefined || amount.minor < 1n) return undefined
  const result = statusOfReport(kind, {
    status: Object.hasOwn(STATES, state) ? STATES[state] : undefined,
    provider_id,
    amount,
    completed_at: transfer.settled_at,
    utr: transfer.bank_reference,
    instructions: transfer.pay_by,
    failureOf: (general) => ({ code: codeOf(reason, general) }),
  })
  return result && { kind, idempotency_key, result }
}

function codeOf(reason: string | undefined, fallback: ErrorCode): ErrorCode {
  return reason !== undefined && Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? fallback) : fallback
}
