import { z } from 'zod'
import { type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { ProviderFailure } from '../../domain/call-result.ts'
import type { ProviderOrder, ProviderReport } from '../connector.ts'
import { parseBody, providerTimeSchema, statusOfReport } from '../provider-report.ts'

/** The path for creates, below the provider's base URL. Lookups append the idempotency key. */
export const OPERATIONS_PATH = '/provider/v1/operations'

const KEY = /^[A-Za-z0-9._:-]{1,128}$/
const visibleAsciiSchema = z.string().regex(/^[\x21-\x7e]{1,128}$/)
const code = z.int().min(0).max(999_999).exactOptional()

const reportSchema = z.object({
  kind: z.enum(['deposit', 'withdrawal', 'refund']),
  idempotency_key: z.string().regex(KEY),
  provider_id: visibleAsciiSchema,
  transaction_id: visibleAsciiSchema.optional(),
  status: z.string().min(1).max(64),
  code,
  amount: z.int().min(1),
  currency: z.string().regex(/^[A-Z]{3}$/),
  completed_at: providerTimeSchema.optional(),
  utr: visibleAsciiSchema.optional(),
  instructions: z.unknown().optional(),
})

const responseSchema = z.discriminatedUnion('accepted', [
  reportSchema.extend({ accepted: z.literal(true) }),
  z.object({ accepted: z.literal(false), code }),
])

/** A valid response of a provider: a report, or the refusal of the request. */
export type ProtocolResponse =
  | { readonly kind: 'report'; readonly report: ProviderReport }
  | { readonly kind: 'refusal'; readonly provider_code: number | undefined }

/** Whether a text is a valid idempotency key. It is part of a signed path, so it must not need escaping. */
export function isIdempotencyKey(text: string): boolean {
  return KEY.test(text)
}

/** The body of a create; `undefined` for an amount or a key that the protocol cannot express. */
export function orderBody(order: ProviderOrder): string | undefined {
  const { amount, earlier_result_unknown: _, ...rest } = order
  const value = Number(amount.minor)
  if (!Number.isSafeInteger(value) || value < 1 || !isIdempotencyKey(order.idempotency_key)) return undefined
  return JSON.stringify({ ...rest, amount: value, currency: amount.currency })
}

/** Parses a response; `undefined` when it is invalid. */
export function parseResponse(body: Uint8Array): ProtocolResponse | undefined {
  const response = parseBody(responseSchema, body)
  if (response === undefined) return undefined
  if (!response.accepted) return { kind: 'refusal', provider_code: response.code }
  const report = toReport(response)
  return report && { kind: 'report', report }
}

/** Parses the body of a callback; `undefined` when it is invalid. */
export function parseReport(body: Uint8Array): ProviderReport | undefined {
  const report = parseBody(reportSchema, body)
  return report && toReport(report)
}

/** Merchants may see a provider's codes of this range: those about providers, customers, payments and their data. */
const PUBLIC_CODES = { from: 4000, below: 9000 }

/** The code for the merchant. A code that merchants may not see becomes `fallback` and is kept as `provider_code`. */
export function toCode(
  provider_code: number | undefined,
  fallback: ErrorCode,
): Pick<ProviderFailure, 'code' | 'provider_code'> {
  if (provider_code === undefined) return { code: fallback }
  const is_public = provider_code >= PUBLIC_CODES.from && provider_code < PUBLIC_CODES.below
  return is_public && isErrorCode(provider_code) ? { code: provider_code } : { code: fallback, provider_code }
}

const STATUSES = ['success', 'declined', 'canceled'] as const

function toReport(report: z.infer<typeof reportSchema>): ProviderReport | undefined {
  const { kind, idempotency_key, code, currency } = report
  const result = statusOfReport(kind, {
    ...report,
    status: STATUSES.find((status) => status === report.status),
    amount: { minor: BigInt(report.amount), currency },
    failureOf: (general) => toCode(code, general),
  })
  return result && { kind, idempotency_key, result }
}
