import { z } from 'zod'
import { type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { ProviderStatus } from '../../domain/call-result.ts'
import type { ProviderOrder, ProviderReport } from '../connector.ts'
import { CANCELLATION_CODES, instructionsSchema, parseBody, providerTimeSchema } from '../response-parts.ts'

/** The path for creates, below the provider's base URL. Lookups append the idempotency key. */
export const OPERATIONS_PATH = '/provider/v1/operations'

const KEY = /^[A-Za-z0-9._:-]{1,128}$/
const visibleAsciiSchema = z.string().regex(/^[\x21-\x7e]{1,128}$/)
const code = z.int().min(0).max(999_999).exactOptional()

const reportSchema = z.object({
  kind: z.enum(['deposit', 'withdrawal', 'refund']),
  idempotency_key: z.string().regex(KEY),
  provider_id: visibleAsciiSchema,
  status: z.string().min(1).max(64),
  code,
  amount: z.int().min(1),
  currency: z.string().regex(/^[A-Z]{3}$/),
  completed_at: providerTimeSchema.exactOptional(),
  utr: visibleAsciiSchema.exactOptional(),
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
): { readonly code: ErrorCode; readonly provider_code?: number } {
  if (provider_code === undefined) return { code: fallback }
  if (
    provider_code >= PUBLIC_CODES.from &&
    provider_code < PUBLIC_CODES.below &&
    isErrorCode(provider_code)
  ) {
    return { code: provider_code }
  }
  return { code: fallback, provider_code }
}

function toReport(report: z.infer<typeof reportSchema>): ProviderReport | undefined {
  const result = toStatus(report)
  return result && { kind: report.kind, idempotency_key: report.idempotency_key, result }
}

/** A success without its time is invalid. A status that the protocol does not define is not final (P4). */
function toStatus(report: z.infer<typeof reportSchema>): ProviderStatus | undefined {
  const common = {
    provider_id: report.provider_id,
    amount: { minor: BigInt(report.amount), currency: report.currency },
  }
  switch (report.status) {
    case 'success': {
      if (report.completed_at === undefined) return undefined
      return {
        kind: 'success',
        ...common,
        completed_at: new Date(report.completed_at),
        ...(report.utr === undefined ? {} : { utr: report.utr }),
      }
    }
    case 'declined':
      return { kind: 'declined', ...common, ...toCode(report.code, 6044) }
    case 'canceled':
      return { kind: 'canceled', ...common, ...toCode(report.code, CANCELLATION_CODES[report.kind]) }
    default: {
      if (report.instructions === undefined) return { kind: 'pending', ...common }
      const { data: instructions } = instructionsSchema.safeParse(report.instructions)
      return instructions && { kind: 'pending', ...common, instructions }
    }
  }
}
