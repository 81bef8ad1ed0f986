import { RESEND_BUCKET } from '#lib/contract/vocabulary.ts'

/** What the reference says of a method beside the shape of its requests. `result` names one of `RESULT_SCHEMAS`. */
export interface MethodPage {
  readonly summary: string
  readonly description: string
  readonly result: string
  /** A request that the gateway takes. */
  readonly example: object
}

const CREATED = '0199c0de-0000-7000-8000-000000000001'

const PAGES: Readonly<Record<string, MethodPage>> = {
  'gateway.ping': {
    summary: 'Shows that your signature is right',
    description: 'Answers at once and changes nothing.',
    result: 'PongResult',
    example: { method: 'gateway.ping', params: {} },
  },
  'payment.in': {
    summary: 'Begins a deposit: a customer pays you',
    description:
      'Once a payment is kept, its create answers HTTP 200 with the payment, whatever the provider said: look at ' +
      '`payment.status`. An error means that nothing was kept and the `c_id` is free, except 6009. After 2001, 2002 ' +
      'or no answer at all, ask `payment.status` with the `c_id` before you decide. Wait for an answer at least 35 s.',
    result: 'CreatedPaymentResult',
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
  },
  'payment.status': {
    summary: 'Shows how a payment stands',
    description:
      'By `c_id`, by `h_id`, or by both, which then have to be of one payment. It sees what you have just written.',
    result: 'PaymentResult',
    example: { method: 'payment.status', params: { payment: { identifiers: { c_id: 'order-1' } } } },
  },
  'payment.notification': {
    summary: 'Sends the callback of a payment’s current state again',
    description:
      'Queues it and answers like `payment.status`, without waiting for the delivery. In a state without an event of its ' +
      'own it is `payment.created`. With no callback address it is 1003. An exact retry queues nothing.',
    result: 'PaymentResult',
    example: {
      method: 'payment.notification',
      operation_id: 'notify-order-1',
      params: { payment: { identifiers: { c_id: 'order-1' } } },
    },
  },
  'balance.get': {
    summary: 'Shows what you have, by currency',
    description: 'Every currency of your routes and your account that the credential may see, also at zero.',
    result: 'BalanceResult',
    example: { method: 'balance.get', params: {} },
  },
  [RESEND_BUCKET]: {
    summary: 'Sends the callback of a payment that has ended again',
    description:
      'Needs the scope `webhooks.update`. A payment that has not ended is 8801; with no callback address it is 1003. ' +
      'Every delivery has a new `X-Webhook-Id`; the payload’s `id` stays. An exact retry queues nothing.',
    result: 'ResendResult',
    example: { payment_id: CREATED, operation_id: 'resend-order-1' },
  },
}

/** The page of a method. One without a page cannot be served, so that none stays undocumented. */
export function pageOf(name: string): MethodPage {
  const page = PAGES[name]
  if (page === undefined) throw new TypeError(`the reference does not know the method ${name}`)
  return page
}
