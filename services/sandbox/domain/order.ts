import { z } from 'zod'

/** The characters of an idempotency key need no escaping in a path, which is signed as sent. */
const KEY = /^[A-Za-z0-9._:-]{1,128}$/

/** Whether a text is a valid idempotency key. */
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

/** The content of a create request. Personal data is validated and not stored: this provider pays no one. */
export type Order = z.infer<typeof orderSchema>

/** Parses the body of a create request; `undefined` when it is malformed. Ignores unknown fields. */
export function parseOrder(body: Buffer): Order | undefined {
  try {
    return orderSchema.safeParse(JSON.parse(body.toString())).data
  } catch {
    return undefined
  }
}
