import { z } from 'zod'

/** Where operations are created; one of them is looked up below it, by its idempotency key. */
export const OPERATIONS_PATH = '/provider/v1/operations'

/**
 * What a request itself can be refused for, with the codes of Multihub's error table. Nothing was looked at, so
 * nothing is kept: the same key may be sent again in a proper request.
 */
export const REQUEST_REFUSALS = {
  unknown_path: { http_status: 404, code: 1001 },
  other_verb: { http_status: 405, code: 1007 },
  key_of_another: { http_status: 409, code: 1013 },
  not_proved: { http_status: 401, code: 4001 },
  not_found: { http_status: 404, code: 6010 },
  too_large: { http_status: 413, code: 8000 },
  malformed: { http_status: 400, code: 8000 },
} as const

/** A name of a refusal. */
export type RequestRefusal = keyof typeof REQUEST_REFUSALS

/** An idempotency key needs no escaping in a path, which is signed as it stands. */
const KEY = /^[A-Za-z0-9._:-]{1,128}$/

/** Whether a text can be an idempotency key. */
export function isIdempotencyKey(text: string): boolean {
  return KEY.test(text)
}

const hint = z.string().max(256).optional()
const person = { email: hint, phone: hint, first_name: hint, last_name: hint }

const common = {
  idempotency_key: z.string().regex(KEY),
  amount: z.int().min(1).transform(BigInt),
  currency: z.string().regex(/^[A-Z]{3}$/),
  method: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/),
  callback_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^[\x21-\x7e]+$/),
}

const orderSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('deposit'),
    ...common,
    expires_at: z.iso.datetime().transform((text) => new Date(text)),
    payer: z.object({ ...person, customer_account_id: hint }),
  }),
  z.object({
    kind: z.literal('withdrawal'),
    ...common,
    beneficiary: z.object({ ...person, account_id: z.string().min(1).max(64), ifsc: hint, bank_code: hint }),
  }),
  z.object({
    kind: z.literal('refund'),
    ...common,
    deposit_idempotency_key: common.idempotency_key,
  }),
])

/** An order as it arrived. Its hints are read and then dropped: this provider pays nobody. */
export type Order = z.infer<typeof orderSchema>

/** Reads the body of a create; `undefined` when it is not one. Fields that the protocol does not know are ignored. */
export function parseOrder(body: Buffer): Order | undefined {
  try {
    return orderSchema.safeParse(JSON.parse(body.toString())).data
  } catch {
    return undefined
  }
}
