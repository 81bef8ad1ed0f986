import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import type { PayerSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { type Environment, environmentToProto } from '#lib/contract/environment.ts'
import type { Keyring } from '#lib/platform/crypto/seal.ts'
import type { Caller } from '../auth/caller.ts'
import { EMAIL_ADDRESS, HTTP_URL } from '../json/formats.ts'
import { amount, currency, text, textFormat } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type TypeOf } from '../json/schema.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText, SERVICE_ID } from './fields.ts'
import { defineMethod, type Method } from './method.ts'
import { createResult, policyOf } from './payment-calls.ts'
import { sealWebhook } from './webhook-secret.ts'

/**
 * What `payment.in` needs. `acceptsCallbackUrl` judges a webhook_url by the rules of N9; `create_timeout_ms` is how long
 * payments is given, longer than it gives the provider (P5).
 */
export interface PaymentInOptions {
  readonly payments: Client<typeof PaymentService>
  readonly keyring: Keyring
  readonly acceptsCallbackUrl: (url: string, environment: Environment) => boolean
  readonly create_timeout_ms: number
}

const NAME = { max: 128 }
const URL = { max: 2048, format: HTTP_URL }

const PAYER = object({
  email: described(
    'Recommended: some providers require it.',
    optionalText({ max: 254, format: EMAIL_ADDRESS }),
  ),
  phone: optionalText({ max: 32 }),
  person: optional(object({ first_name: optionalText(NAME), last_name: optionalText(NAME) })),
  customer_account: optional(
    object({ id: described('What you call this customer.', optionalText({ max: 128 })) }),
  ),
})

const CLIENT = object({
  language: described('A hint for payment pages.', optionalText({ max: 10 })),
  country: described('A hint for payment pages.', optionalText({ max: 3 })),
})

const REDIRECT = object({
  on_success: described('Where the customer goes after paying.', optionalText(URL)),
  on_fail: described('Where the customer goes when it did not work.', optionalText(URL)),
})

const C_ID_UNIQUE = 'Your reference, which makes the payment unique: creating it again is 6009.'

const CALLBACK_URL =
  'A public address for the callbacks of this payment: https in production, no user info, no fragment.'

/** The order of the fields is that of the spec's table: the first fault is the one that is told (E6). */
function requestSchema(acceptsCallbackUrl: PaymentInOptions['acceptsCallbackUrl']) {
  const callback_url = textFormat({ ...HTTP_URL, name: 'public callback URL', also: acceptsCallbackUrl })
  return object({
    method: METHOD,
    service_id: SERVICE_ID,
    operation_id: notApplicable(),
    params: object({
      payment: object({
        identifiers: object({ c_id: described(C_ID_UNIQUE, text(MERCHANT_REFERENCE)) }),
        amount: object({
          value: described('In minor units, such as cents. Otherwise 6001.', amount()),
          currency: described('The ISO 4217 code of the route; another one is 6002.', currency()),
        }),
        description: optionalText({ max: 1024 }),
        payer: described('The customer who sends the funds. May be empty.', PAYER),
        receiver: notApplicable(),
        client: optional(CLIENT),
        redirect: described('Given back in the answer.', optional(REDIRECT)),
        webhook_url: described(CALLBACK_URL, optionalText({ max: 2048, format: callback_url })),
      }),
    }),
  })
}

/** `payment.in`: begins a deposit. Shape and content are judged here, everything about the route by payments (E9). */
export function paymentIn(options: PaymentInOptions): Method {
  const { payments, keyring, acceptsCallbackUrl, create_timeout_ms } = options
  return defineMethod({
    name: 'payment.in',
    schema: requestSchema(acceptsCallbackUrl),
    async handle({ service_id, params }, caller: Caller) {
      const { identifiers, amount, description, payer, client, redirect, webhook_url } = params.payment
      const { payment } = await payments.createPayment(
        {
          merchantId: caller.merchant_id,
          environment: environmentToProto(caller.environment),
          policy: policyOf(caller),
          serviceId: service_id,
          direction: Direction.IN,
          cId: identifiers.c_id,
          amount: { minor: amount.value, currency: amount.currency },
          description,
          payer: payerMessage(payer),
          onSuccess: redirect?.on_success,
          onFail: redirect?.on_fail,
          language: client?.language,
          country: client?.country,
          webhook:
            webhook_url === undefined
              ? undefined
              : sealWebhook(webhook_url, identifiers.c_id, caller, keyring),
        },
        { timeoutMs: create_timeout_ms },
      )
      return createResult(payment, 'create')
    },
  })
}

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
