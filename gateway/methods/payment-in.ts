import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { EMAIL_ADDRESS, HTTP_URL } from '../json/scalars.ts'
import { described, notApplicable, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import {
  CLIENT,
  CREATE_RESPONSE_TEXT,
  createPaymentCall,
  DESCRIPTION,
  NEW_AMOUNT,
  NEW_IDENTIFIERS,
  PERSON,
  PHONE,
  WEBHOOK_URL,
} from './new-payment.ts'
import { CREATED_PAYMENT_RESULT, PAYMENT_COMPONENTS, toPaymentResult } from './payment-result.ts'
import { METHOD, optionalText, SERVICE_ID } from './request-fields.ts'

const URL_BOUNDS = { max: 2048, format: HTTP_URL }

const PAYER = object({
  email: described(
    'Recommended, because some providers require it.',
    optionalText({ max: 254, format: EMAIL_ADDRESS }),
  ),
  phone: PHONE,
  person: PERSON,
  customer_account: optional(
    object({ id: described('Your own identifier of the customer.', optionalText({ max: 128 })) }),
  ),
})

const REDIRECT = object({
  on_success: described('Where to send the customer after a successful payment.', optionalText(URL_BOUNDS)),
  on_fail: described('Where to send the customer after a failed payment.', optionalText(URL_BOUNDS)),
})

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
      identifiers: NEW_IDENTIFIERS,
      amount: NEW_AMOUNT,
      description: DESCRIPTION,
      payer: described('The customer who pays. May be an empty object.', PAYER),
      receiver: notApplicable(),
      client: CLIENT,
      redirect: described('Returned in the response.', optional(REDIRECT)),
      webhook_url: WEBHOOK_URL,
    }),
  }),
})

/**
 * `payment.in`: creates a deposit. The gateway checks the request itself; the payments service checks it against the route
 * (E9).
 */
export const paymentIn = defineMethod({
  name: 'payment.in',
  default_quota: 300_000,
  summary: 'Creates a deposit: a customer pays you',
  description: CREATE_RESPONSE_TEXT,
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
  createHandler(deps) {
    const createPayment = createPaymentCall(deps)
    return async ({ service_id, params }, caller) => {
      const payment = await createPayment(caller, service_id, params.payment, { direction: Direction.IN })
      return toPaymentResult(payment, 'create')
    }
  },
})
