import { fromJson, type MessageInitShape } from '@bufbuild/protobuf'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  type CreatePaymentRequestSchema,
  PaymentService,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { hmacHex } from '#lib/base/crypto/hash.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import type { Caller } from '../auth/credential.ts'
import { amount, CALLBACK_URL, currency, EMAIL_ADDRESS, HTTP_URL, text } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type Schema, type TypeOf } from '../json/schema.ts'
import { type Call, defineMethod, type MethodDeps } from './method.ts'
import { CREATED_PAYMENT_RESULT } from './payment-result.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText, permittedScope, SERVICE_ID } from './request-fields.ts'

const IDENTIFIERS = object({
  c_id: described(
    'Your own reference, which must be unique: creating a payment with it again is refused with 6009.',
    text(MERCHANT_REFERENCE),
  ),
})

const AMOUNT = object({
  value: described(
    'In minor units, such as cents. An amount that cannot be paid is refused with 6001.',
    amount(),
  ),
  currency: described('The ISO 4217 code of the route. Another currency is refused with 6002.', currency()),
})

const CLIENT = object({
  language: described('The preferred language of payment pages.', optionalText({ max: 10 })),
  country: described('The country of the customer, for payment pages.', optionalText({ max: 3 })),
})

/**
 * The request for a new payment. The fields are in the order of the specification (spec: Payment request object), because
 * the first violation is reported (E6).
 */
const requestOf = <P extends Schema<unknown>, R extends Schema<unknown>, U extends Schema<unknown>>(
  payer: P,
  receiver: R,
  redirect: U,
) =>
  object({
    method: METHOD,
    service_id: SERVICE_ID,
    operation_id: notApplicable(),
    params: object({
      payment: object({
        identifiers: IDENTIFIERS,
        amount: AMOUNT,
        description: optionalText({ max: 1024 }),
        payer,
        receiver,
        client: optional(CLIENT),
        redirect,
        // N9
        webhook_url: described(
          'Where to send the callbacks of this payment: a public address, https in production, without user info or fragment.',
          optionalText({ max: 2048, format: CALLBACK_URL }),
        ),
      }),
    }),
  })

const NAME = { max: 128 }

/** What is said of a person (P17). */
const PERSON_FIELDS = {
  phone: optionalText({ max: 32 }),
  person: optional(object({ first_name: optionalText(NAME), last_name: optionalText(NAME) })),
}

/** What both methods have in common. */
const NEW_PAYMENT_METHOD = {
  default_quota: 300_000,
  result: CREATED_PAYMENT_RESULT.schema,
  result_components: CREATED_PAYMENT_RESULT.components,
} as const

const CREATE_RESPONSE_TEXT =
  'Once the payment is stored, the response is HTTP 200 with the payment, even if the provider refused it: read ' +
  '`payment.status`. An error other than 6009, 2001, 2002 and, with a nonce, a signed 3000 means that nothing was stored and ' +
  'the `c_id` is still free. After 2001, 2002, such a 3000 or no response, call `payment.status` with the `c_id`. ' +
  'Wait at least 35 seconds for a response.'

const URL_BOUNDS = { max: 2048, format: HTTP_URL }

const PAYER = object({
  email: described(
    'Recommended, because some providers require it.',
    optionalText({ max: 254, format: EMAIL_ADDRESS }),
  ),
  ...PERSON_FIELDS,
  customer_account: optional(
    object({ id: described('Your own identifier of the customer.', optionalText({ max: 128 })) }),
  ),
})

const REDIRECT = object({
  on_success: described('Where to send the customer after a successful payment.', optionalText(URL_BOUNDS)),
  on_fail: described('Where to send the customer after a failed payment.', optionalText(URL_BOUNDS)),
})

/**
 * `payment.in`: creates a deposit. The gateway checks the request itself; the payments service checks it against the route
 * (E9).
 */
export const paymentIn = defineMethod({
  name: 'payment.in',
  refusals: [1004, 1008, 1010, 6001, 6002, 6009, 7002],
  ...NEW_PAYMENT_METHOD,
  summary: 'Creates a deposit: a customer pays you',
  description: CREATE_RESPONSE_TEXT,
  example: {
    service_id: 501,
    params: {
      payment: {
        identifiers: { c_id: 'order-1' },
        amount: { value: 150_000, currency: 'INR' },
        description: 'Order 1',
        payer: { email: 'asha.rao@example.com', person: { first_name: 'Asha', last_name: 'Rao' } },
        redirect: { on_success: 'https://shop.example.com/ok', on_fail: 'https://shop.example.com/fail' },
      },
    },
  },
  request: requestOf(
    described('The customer who pays. May be an empty object.', PAYER),
    notApplicable(),
    described('Returned in the response.', optional(REDIRECT)),
  ),
  createHandler(deps) {
    const createPayment = createPaymentCall(deps)
    return ({ service_id, params }, caller, call) =>
      createPayment({ caller, call }, service_id, params.payment, { direction: Direction.IN })
  },
})

/** Longer than any account number or code. Their forms are checked by payments, which knows the country (P12). */
const BANK_TEXT = { max: 64 }

const RECEIVER = object({
  bank: object({
    account: object({
      id: described(
        'An account number; the CLABE in Mexico, CBU or CVU in Argentina, IBAN in Turkey. A wrong one is refused with 8600.',
        text(BANK_TEXT),
      ),
    }),
    ifsc: described(
      'The code of the branch: required in India, elsewhere refused with 9000.',
      optionalText(BANK_TEXT),
    ),
    code: described(
      'The code of the bank: optional in Argentina, the BSB (required) in Australia, elsewhere refused with 9000. A wrong one is refused with 8601.',
      optionalText(BANK_TEXT),
    ),
  }),
  email: optionalText({ max: 254, format: EMAIL_ADDRESS }),
  ...PERSON_FIELDS,
})

/** `payment.out`: creates a withdrawal. Payments checks it against its route, the ledger against funds and limits (E9). */
export const paymentOut = defineMethod({
  name: 'payment.out',
  refusals: [1004, 1008, 1010, 6001, 6002, 6009, 7002, 6004, 6005, 6006, 6035, 8600, 8601],
  ...NEW_PAYMENT_METHOD,
  summary: 'Creates a withdrawal: you pay a recipient',
  description:
    `The amount is held in your balance at once, and taken or given back when the withdrawal ends. ${CREATE_RESPONSE_TEXT} ` +
    'Without enough balance the response is 6004; beyond a limit of the route 6006 (day), 6005 (month) or 6035 (others). ' +
    'After these four, the same request gets the same refusal for 60 seconds.',
  example: {
    service_id: 512,
    params: {
      payment: {
        identifiers: { c_id: 'withdrawal-1' },
        amount: { value: 150_000, currency: 'INR' },
        description: 'Earnings of May',
        receiver: {
          bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' },
          person: { first_name: 'Asha', last_name: 'Rao' },
        },
      },
    },
  },
  request: requestOf(
    notApplicable(),
    described('Whom you pay, and the bank account. Its country decides which codes it has.', RECEIVER),
    notApplicable(),
  ),
  createHandler(deps) {
    const createPayment = createPaymentCall(deps)
    return ({ service_id, params }, caller, call) => {
      const { bank, ...receiver } = params.payment.receiver
      const { account, ifsc, code: bankCode } = bank
      const payment = { ...params.payment, receiver }
      const beneficiary = { accountId: account.id, ifsc, bankCode }
      const fields = {
        direction: Direction.OUT,
        beneficiary,
        payloadHash: payloadHash({ service_id, params }),
      }
      return createPayment({ caller, call }, service_id, payment, fields)
    }
  },
})

/** The fields of a request on which the payment depends. All others are details, which services only keep and return. */
interface NewPayment {
  readonly identifiers: TypeOf<typeof IDENTIFIERS>
  readonly amount: TypeOf<typeof AMOUNT>
  readonly webhook_url?: string
}

/** Makes the function by which `payment.in` and `payment.out` create a payment. `fields` has what only one of them sends. */
function createPaymentCall({ clientOf, keys, create_timeout_ms }: MethodDeps) {
  const payments = clientOf(PaymentService)
  return async (
    { caller, call }: { readonly caller: Caller; readonly call: Call },
    service_id: string,
    { identifiers, amount, webhook_url, ...details }: NewPayment,
    fields: Pick<
      MessageInitShape<typeof CreatePaymentRequestSchema>,
      'direction' | 'beneficiary' | 'payloadHash'
    >,
  ): Promise<unknown> => {
    const { c_id } = identifiers
    call.isAbout({ c_id })
    const { payment } = await payments.createPayment(
      {
        ...permittedScope(caller),
        serviceId: service_id,
        cId: c_id,
        amount: { minor: amount.value, currency: amount.currency },
        details: fromJson(MerchantDetailsSchema, details),
        webhook: webhook_url === undefined ? undefined : sealWebhook(webhook_url, c_id, caller, keys.webhook),
        ...fields,
      },
      { timeoutMs: create_timeout_ms },
    )
    return CREATED_PAYMENT_RESULT.render(payment, call)
  }
}

/** The text whose HMAC is the secret of a payment's own callback address (spec: Callback signatures). */
const DERIVATION_LABEL = 'service:merchant-webhook-signing:v1'

/**
 * Returns the callback address of a payment with its signing secret. The secret is derived from the API secret that
 * signed the request (N8), and sealed for this merchant and this c_id, so that no other payment can use it.
 */
export function sealWebhook(
  url: string,
  c_id: string,
  { merchant_id, secret }: Pick<Caller, 'merchant_id' | 'secret'>,
  keyring: Keyring,
): { readonly url: string; readonly sealedSecret: string } {
  const derived = new Secret(hmacHex('sha256', secret, DERIVATION_LABEL))
  return { url, sealedSecret: keyring.seal(derived, ownerOfWebhookSecret({ merchant_id, c_id })) }
}
