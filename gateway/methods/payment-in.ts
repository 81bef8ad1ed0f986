import type { MessageInitShape } from '@bufbuild/protobuf'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import type { PayerSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { amount, CALLBACK_URL, currency, EMAIL_ADDRESS, HTTP_URL, text } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type TypeOf } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import {
  CREATED_PAYMENT_RESULT,
  credentialPolicy,
  PAYMENT_COMPONENTS,
  toPaymentResult,
} from './payment-result.ts'
import { sealWebhook } from './payment-webhook.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText, SERVICE_ID } from './request-fields.ts'

const NAME = { max: 128 }
const URL_BOUNDS = { max: 2048, format: HTTP_URL }

const PAYER = object({
  email: described(
    'Recommended, because some providers require it.',
    optionalText({ max: 254, format: EMAIL_ADDRESS }),
  ),
  phone: optionalText({ max: 32 }),
  person: optional(object({ first_name: optionalText(NAME), last_name: optionalText(NAME) })),
  customer_account: optional(
    object({ id: described('Your own identifier of the customer.', optionalText({ max: 128 })) }),
  ),
})

const CLIENT = object({
  language: described('The preferred language of payment pages.', optionalText({ max: 10 })),
  country: described('The country of the customer, for payment pages.', optionalText({ max: 3 })),
})

const REDIRECT = object({
  on_success: described('Where to send the customer after a successful payment.', optionalText(URL_BOUNDS)),
  on_fail: described('Where to send the customer after a failed payment.', optionalText(URL_BOUNDS)),
})

const C_ID = 'Your own reference, which must be unique: creating a payment with it again is 6009.'

const WEBHOOK_URL =
  'Where to send the callbacks of this payment: a public address, https in production, without user info or fragment.'

/**
 * The fields are in the order of the specification (spec: Payment request object), because the first violation is
 * reported (E6).
 */
const REQUEST = object({
  method: METHOD,
  service_id: SERVICE_ID,
  operation_id: notApplicable(),
  params: object({
    payment: object({
      identifiers: object({ c_id: described(C_ID, text(MERCHANT_REFERENCE)) }),
      amount: object({
        value: described('In minor units, such as cents. An amount that cannot be paid is 6001.', amount()),
        currency: described('The ISO 4217 code of the route. Another currency is 6002.', currency()),
      }),
      description: optionalText({ max: 1024 }),
      payer: described('The customer who pays. May be an empty object.', PAYER),
      receiver: notApplicable(),
      client: optional(CLIENT),
      redirect: described('Returned in the response.', optional(REDIRECT)),
      webhook_url: described(WEBHOOK_URL, optionalText({ max: 2048, format: CALLBACK_URL })),
    }),
  }),
})

/** `payment.in`: creates a deposit. The gateway checks the request itself; payments checks it against the route (E9). */
export const paymentIn = defineMethod({
  name: 'payment.in',
  default_quota: 300_000,
  summary: 'Creates a deposit: a customer pays you',
  description:
    'Once the payment is stored, the response is HTTP 200 with the payment, even if the provider refused it: read ' +
    '`payment.status`. An error other than 6009, 2001 and 2002 means that nothing was stored and the `c_id` is still free. ' +
    'After 2001, 2002 or no response, call `payment.status` with the `c_id`. Wait at least 35 seconds for a ' +
    'response.',
  example: {
    method: 'payment.in',
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
  request: REQUEST,
  result: CREATED_PAYMENT_RESULT,
  result_components: PAYMENT_COMPONENTS,
  createHandler({ clientOf, keyring, create_timeout_ms }) {
    const payments = clientOf(PaymentService)
    return async ({ service_id, params }, caller) => {
      const { identifiers, amount, description, payer, client, redirect, webhook_url } = params.payment
      const { c_id } = identifiers
      const { payment } = await payments.createPayment(
        {
          merchantId: caller.merchant_id,
          environment: environmentToProto(caller.environment),
          policy: credentialPolicy(caller),
          serviceId: service_id,
          direction: Direction.IN,
          cId: c_id,
          amount: { minor: amount.value, currency: amount.currency },
          description,
          payer: payerMessage(payer),
          onSuccess: redirect?.on_success,
          onFail: redirect?.on_fail,
          language: client?.language,
          country: client?.country,
          webhook: webhook_url === undefined ? undefined : sealWebhook(webhook_url, c_id, caller, keyring),
        },
        { timeoutMs: create_timeout_ms },
      )
      return toPaymentResult(payment, 'create')
    }
  },
})

function payerMessage({
  email,
  phone,
  person,
  customer_account,
}: TypeOf<typeof PAYER>): MessageInitShape<typeof PayerSchema> {
  return {
    email,
    phone,
    person: person && { firstName: person.first_name, lastName: person.last_name },
    customerAccount: customer_account && { id: customer_account.id },
  }
}
