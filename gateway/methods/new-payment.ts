import { fromJson, type MessageInitShape } from '@bufbuild/protobuf'
import { MerchantDetailsSchema, type Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  type CreatePaymentRequestSchema,
  PaymentService,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { hmacHex } from '#lib/base/crypto/hash.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { Caller } from '../auth/credential.ts'
import { amount, CALLBACK_URL, currency, text } from '../json/scalars.ts'
import { described, object, optional, type TypeOf } from '../json/schema.ts'
import type { MethodDeps } from './method.ts'
import { credentialPolicy, MERCHANT_REFERENCE, merchantScope, optionalText } from './request-fields.ts'

const C_ID = 'Your own reference, which must be unique: creating a payment with it again is 6009.'

const WEBHOOK =
  'Where to send the callbacks of this payment: a public address, https in production, without user info or fragment.'

/** The reference of a new payment. */
export const NEW_IDENTIFIERS = object({ c_id: described(C_ID, text(MERCHANT_REFERENCE)) })

/** The amount of a new payment. */
export const NEW_AMOUNT = object({
  value: described('In minor units, such as cents. An amount that cannot be paid is 6001.', amount()),
  currency: described('The ISO 4217 code of the route. Another currency is 6002.', currency()),
})

/** The merchant's text about a new payment. */
export const DESCRIPTION = optionalText({ max: 1024 })

const NAME = { max: 128 }

/** The name of a person (P17). */
export const PERSON = optional(object({ first_name: optionalText(NAME), last_name: optionalText(NAME) }))

/** A telephone number (P17). */
export const PHONE = optionalText({ max: 32 })

/** Hints about the customer or recipient. */
export const CLIENT = optional(
  object({
    language: described('The preferred language of payment pages.', optionalText({ max: 10 })),
    country: described('The country of the customer, for payment pages.', optionalText({ max: 3 })),
  }),
)

/** The callback address of one payment (N9). */
export const WEBHOOK_URL = described(WEBHOOK, optionalText({ max: 2048, format: CALLBACK_URL }))

/** What every method that creates a payment says about its response. */
export const CREATE_RESPONSE_TEXT =
  'Once the payment is stored, the response is HTTP 200 with the payment, even if the provider refused it: read ' +
  '`payment.status`. An error other than 6009, 2001 and 2002 means that nothing was stored and the `c_id` is still free. ' +
  'After 2001, 2002 or no response, call `payment.status` with the `c_id`. Wait at least 35 seconds for a response.'

/** The fields of a request on which the payment depends. All its other fields are details, which services only keep and return. */
interface NewPayment {
  readonly identifiers: TypeOf<typeof NEW_IDENTIFIERS>
  readonly amount: TypeOf<typeof NEW_AMOUNT>
  readonly webhook_url?: string
}

/** The direction, and what only one of the two has. */
type DirectionFields = Pick<MessageInitShape<typeof CreatePaymentRequestSchema>, 'direction' | 'beneficiary'>

/** Creates a payment of a caller on a route. */
export type CreatePayment = (
  caller: Caller,
  service_id: string,
  payment: NewPayment,
  fields: DirectionFields,
) => Promise<Payment | undefined>

/** Makes the function by which `payment.in` and `payment.out` create a payment. */
export function createPaymentCall({ clientOf, keyring, create_timeout_ms }: MethodDeps): CreatePayment {
  const payments = clientOf(PaymentService)
  return async (caller, service_id, { identifiers, amount, webhook_url, ...details }, fields) => {
    const { c_id } = identifiers
    const { payment } = await payments.createPayment(
      {
        ...merchantScope(caller),
        policy: credentialPolicy(caller),
        serviceId: service_id,
        cId: c_id,
        amount: { minor: amount.value, currency: amount.currency },
        details: fromJson(MerchantDetailsSchema, details),
        webhook: webhook_url === undefined ? undefined : sealWebhook(webhook_url, c_id, caller, keyring),
        ...fields,
      },
      { timeoutMs: create_timeout_ms },
    )
    return payment
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
