import { z } from 'zod'
import { clock } from '#lib/base/time.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Money } from '#lib/contract/money.ts'
import type { OperationKind, ProviderFailure, ProviderStatus, Unknown } from '../domain/call-result.ts'
import type { OperationName, ProviderReport } from './connector.ts'
import { protocolViolation } from './provider-http.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the JSON body of a provider; `undefined` when it is not valid UTF-8, JSON, or does not fit the schema. */
export function parseBody<T>(schema: z.ZodType<T>, body: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(decoder.decode(body))).data
  } catch {
    return undefined
  }
}

const text = z.string().min(1).max(128)

/** A link that opens an app. Web pages, scripts and local files are excluded. */
const APP_LINK =
  /^(?!https?:|javascript:|data:|vbscript:|file:|blob:|about:)[a-z][a-z0-9+.-]*:\/\/[\x21-\x7e]+$/i

/** The payment instructions of a provider, in our names. A link that is not safe to show makes all of them invalid. */
const instructionsSchema = z.object({
  deep_links: z.array(z.string().max(2048).regex(APP_LINK)).min(1).max(20).exactOptional(),
  qr_payload: z.string().min(1).max(4096).exactOptional(),
  payment_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .exactOptional(),
  bank_account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  bank: z.object({ name: text.exactOptional(), code: text.exactOptional() }).exactOptional(),
  phone: z.string().min(1).max(32).exactOptional(),
  document: z.object({ type: text.exactOptional(), number: text }).exactOptional(),
})

const EARLIEST_MS = Date.UTC(2000, 0, 1)
/** Covers a clock of the provider that is wrong, and a local time that is called UTC. */
const AHEAD_MAX_MS = 24 * 60 * 60 * 1_000

/**
 * The time of a success as a provider reports it, in UTC. A time before the year 2000 or more than a day ahead is invalid,
 * because no payment can have it and other formats cannot carry it.
 */
export const providerTimeSchema = z.iso.datetime().refine((text) => {
  const at_ms = Date.parse(text)
  return at_ms >= EARLIEST_MS && at_ms <= clock.now_ms() + AHEAD_MAX_MS
})

/** The codes of a cancellation without a reason: customers cancel deposits, providers cancel everything else. */
const CANCELLATION_CODES: Readonly<Record<OperationKind, ErrorCode>> = {
  deposit: 6012,
  withdrawal: 6034,
  refund: 6034,
}

/** The parts of a provider's report, read but not judged. `status` is `undefined` when the protocol does not define it. */
export interface ReportFields {
  readonly status: 'success' | 'declined' | 'canceled' | undefined
  /** The id that stays the same for our key, and another one that may change (P4). */
  readonly provider_id: string
  readonly transaction_id?: string | undefined
  readonly amount: Money
  /** An ISO 8601 instant in UTC. */
  readonly completed_at?: string | undefined
  readonly utr?: string | undefined
  readonly instructions?: unknown
  /** The code of a failure, with the general one for a report that gives no reason, or one that merchants may not see. */
  readonly failureOf: (general: ErrorCode) => Pick<ProviderFailure, 'code' | 'provider_code'>
}

/**
 * What a report says about an operation; `undefined` when it is invalid: a success without its time, or instructions that
 * are not safe to show. A status that the protocol does not define is not final (P4).
 */
export function statusOfReport(kind: OperationKind, report: ReportFields): ProviderStatus | undefined {
  const { status, provider_id, transaction_id, amount, completed_at, utr, failureOf } = report
  const common = { provider_id, ...(transaction_id !== undefined && { transaction_id }), amount }
  switch (status) {
    case 'success':
      return completed_at === undefined
        ? undefined
        : { kind: 'success', ...common, completed_at: new Date(completed_at), utr }
    case 'declined':
      return { kind: 'declined', ...common, ...failureOf(6044) }
    case 'canceled':
      return { kind: 'canceled', ...common, ...failureOf(CANCELLATION_CODES[kind]) }
    default: {
      if (report.instructions === undefined) return { kind: 'pending', ...common }
      const { data: instructions } = instructionsSchema.safeParse(report.instructions)
      return instructions && { kind: 'pending', ...common, instructions }
    }
  }
}

/** What the report in a response proves. It counts only with HTTP 2xx and for the requested operation. */
export function resultOfReport(
  requested: OperationName,
  http_status: number,
  { kind, idempotency_key, result }: ProviderReport,
): ProviderStatus | Unknown {
  if (!isSuccess(http_status)) return protocolViolation(`HTTP ${http_status} with a report`)
  const is_same = kind === requested.kind && idempotency_key === requested.idempotency_key
  return is_same ? result : protocolViolation('a report about another operation')
}

/** Whether an HTTP status is 2xx. */
export function isSuccess(http_status: number): boolean {
  return http_status >= 200 && http_status <= 299
}
