import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { EMAIL_ADDRESS, text } from '../json/scalars.ts'
import { described, notApplicable, object } from '../json/schema.ts'
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

/** Longer than any account number or code. Their forms are checked by payments, which knows the country (P12). */
const BANK_TEXT = { max: 64 }

const RECEIVER = object({
  bank: object({
    account: object({
      id: described(
        'An account number; the CLABE in Mexico, CBU or CVU in Argentina, IBAN in Turkey. A bad one is 8600.',
        text(BANK_TEXT),
      ),
    }),
    ifsc: described('The code of the branch: required in India, elsewhere 9000.', optionalText(BANK_TEXT)),
    code: described(
      'The code of the bank: optional in Argentina, the BSB (required) in Australia, elsewhere 9000. A bad one is 8601.',
      optionalText(BANK_TEXT),
    ),
  }),
  email: optionalText({ max: 254, format: EMAIL_ADDRESS }),
  phone: PHONE,
  person: PERSON,
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
      payer: notApplicable(),
      receiver: described(
        'Whom you pay, and the bank account. Its country decides which codes it has.',
        RECEIVER,
      ),
      client: CLIENT,
      redirect: notApplicable(),
      webhook_url: WEBHOOK_URL,
    }),
  }),
})

/** `payment.out`: creates a withdrawal. Payments checks it against its route, the ledger against funds and limits (E9). */
export const paymentOut = defineMethod({
  name: 'payment.out',
  default_quota: 300_000,
  summary: 'Creates a withdrawal: you pay a recipient',
  description:
    `The amount is held in your balance at once, and taken or given back when the withdrawal ends. ${CREATE_RESPONSE_TEXT} ` +
    'Without enough balance the response is 6004; beyond a limit of the route 6006 (day), 6005 (month) or 6035 (others).',
  example: {
    method: 'payment.out',
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
  request: REQUEST,
  result: CREATED_PAYMENT_RESULT,
  result_components: PAYMENT_COMPONENTS,
  createHandler(deps) {
    const createPayment = createPaymentCall(deps)
    return async ({ service_id, params }, caller) => {
      const { bank, ...receiver } = params.payment.receiver
      const { account, ifsc, code: bankCode } = bank
      const details = { ...params.payment, receiver }
      const payment = await createPayment(caller, service_id, details, {
        direction: Direction.OUT,
        beneficiary: { accountId: account.id, ifsc, bankCode },
      })
      return toPaymentResult(payment, 'create')
    }
  },
})
