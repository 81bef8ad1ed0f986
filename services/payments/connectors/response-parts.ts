import { z } from 'zod'
import { clock } from '#lib/base/time.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { OperationKind } from '../domain/call-result.ts'

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
export const instructionsSchema = z.object({
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
export const CANCELLATION_CODES: Readonly<Record<OperationKind, ErrorCode>> = {
  deposit: 6012,
  withdrawal: 6034,
  refund: 6034,
}
