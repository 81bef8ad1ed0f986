import { METHODS } from '#lib/contract/methods.ts'
import type { Choices } from './choices.ts'
import type { FuzzMerchant } from './merchant.ts'

/** A payment that exists before the fuzzer starts. */
export interface PreparedPayment {
  readonly c_id: string
  readonly h_id: string
}

/** The stored data before the fuzzer starts. */
export interface FuzzSetup extends FuzzMerchant {
  /** The callback URL of deposits. */
  readonly callback_url: string
  /** Its callbacks were sent, and again under `REPEATED_OPERATION`, so that the same operation changes nothing. */
  readonly notified: PreparedPayment
  /** It has no callback URL, so that a request for a callback is refused and stores nothing. */
  readonly without_callback: PreparedPayment
}

/** The operation of the repeated callbacks of `notified`, on the resend path and by `payment.notification`. */
export const REPEATED_OPERATION = 'fuzz-known-operation'

/** A valid request. */
export interface ValidRequest {
  /** The payment in the resend path. Without one the request goes to the path of the methods. */
  readonly resend_of?: string
  readonly body: object
}

/** Personal and account data that the fuzzer sends. None of it may be logged. */
export const PRIVATE_TEXTS = {
  email: 'fuzz.customer@example.com',
  phone: '+915550001234567',
  first_name: 'Zzyzxfirst',
  last_name: 'Zzyzxlast',
  customer_account: 'fuzz-account-0042',
  description: 'a description that the fuzzer made',
  bank_account: '909090909090909',
} as const

const { email, phone, first_name, last_name, customer_account, description, bank_account } = PRIVATE_TEXTS

/** Requests that succeed every time and change nothing. */
export function repeatableRequest(setup: FuzzSetup, choices: Choices): ValidRequest {
  const { notified } = setup
  const operation_id = REPEATED_OPERATION
  return choices.weighted<ValidRequest>([
    [5, { body: readOnlyBody(setup, choices.pick([notified, setup.without_callback]), choices) }],
    [1, { body: { method: 'payment.notification', operation_id, params: notifiedPaymentParams(notified) } }],
    [1, { body: { payment_id: notified.h_id, operation_id }, resend_of: notified.h_id }],
  ])
}

/** Read-only requests about the payment without a callback URL. They change nothing even if their method is changed. */
export function readOnlyRequest(setup: FuzzSetup, choices: Choices): ValidRequest {
  return { body: readOnlyBody(setup, setup.without_callback, choices) }
}

function readOnlyBody({ service_id }: FuzzSetup, { c_id, h_id }: PreparedPayment, choices: Choices): object {
  const identifiers = choices.pick([{ c_id }, { h_id }, { c_id, h_id }])
  return choices.pick<object>([
    { method: 'gateway.ping', params: {} },
    { method: 'gateway.ping', params: {}, service_id: 1 },
    { method: 'balance.get', params: {} },
    { method: 'balance.get', service_id: choices.pick([service_id, String(service_id)]), params: {} },
    { method: 'payment.status', params: { payment: { identifiers } } },
  ])
}

/** The params of the notification of `notified`. The same params are an exact repetition. */
export function notifiedPaymentParams({ h_id }: PreparedPayment): object {
  return { payment: { identifiers: { h_id } } }
}

/** A deposit that would be stored if it were accepted. It is sent with invalid signatures only. */
export function acceptableDeposit(setup: FuzzSetup, choices: Choices): ValidRequest {
  return deposit(setup, setup.service_id, 'INR', choices)
}

/**
 * Well-formed requests that can never be accepted, however they are changed: another currency than the route's, a
 * disabled route, a payment without a callback URL, missing scopes.
 */
export function unacceptableRequest(setup: FuzzSetup, choices: Choices): ValidRequest {
  const { without_callback, service_id, disabled_service_id } = setup
  const identifiers = choices.pick([
    { c_id: without_callback.c_id },
    { h_id: without_callback.h_id },
    without_callback,
  ])
  const operation_id = `fuzz-${choices.hex(16)}`
  return choices.weighted<ValidRequest>([
    [5, deposit(setup, service_id, 'AUD', choices)],
    [2, deposit(setup, disabled_service_id, 'AUD', choices)],
    [2, { body: withdrawalBody(choices.pick([service_id, disabled_service_id]), choices) }],
    [1, { body: { method: 'payment.notification', operation_id, params: { payment: { identifiers } } } }],
    [1, { body: { method: 'payment.notification', params: { payment: { identifiers } } } }],
    [3, { body: { payment_id: without_callback.h_id, operation_id }, resend_of: without_callback.h_id }],
    [2, { body: supportBody(choices) }],
  ])
}

/** A deposit with every field, or with the required fields only. */
export function depositBody(
  { service_id, currency, c_id, callback_url }: DepositFields,
  extent: 'full' | 'required',
): object {
  const required = { identifiers: { c_id }, amount: { value: 12_300, currency }, payer: {} }
  const full = {
    ...required,
    description,
    payer: {
      email,
      phone,
      person: { first_name, last_name },
      customer_account: { id: customer_account },
    },
    client: { language: 'en-IN', country: 'IN' },
    redirect: { on_success: 'https://example.com/yes', on_fail: 'https://example.com/no' },
    webhook_url: callback_url,
  }
  return { method: 'payment.in', service_id, params: { payment: extent === 'full' ? full : required } }
}

/** The fields that differ between deposits. */
export interface DepositFields {
  readonly service_id: number | string
  readonly currency: string
  readonly c_id: string
  readonly callback_url: string
}

function deposit(
  { callback_url }: FuzzSetup,
  service_id: number,
  currency: string,
  choices: Choices,
): ValidRequest {
  const c_id = `fuzz-${choices.hex(16)}`
  const parts = { service_id: choices.pick([service_id, String(service_id)]), currency, c_id, callback_url }
  return { body: depositBody(parts, choices.chance(0.7) ? 'full' : 'required') }
}

function withdrawalBody(service_id: number, choices: Choices): object {
  const payment = {
    identifiers: { c_id: `fuzz-${choices.hex(16)}` },
    amount: { value: 12_300, currency: 'AUD' },
    description,
    receiver: {
      bank: { account: { id: bank_account }, ifsc: 'HDFC0001234' },
      email,
      phone,
      person: { first_name, last_name },
    },
  }
  return { method: 'payment.out', service_id, params: { payment } }
}

function supportBody(choices: Choices): object {
  const method = choices.pick(METHODS.filter((name) => !/^(payment|balance|gateway)\./.test(name)))
  const identifiers = { c_id: `fuzz-${choices.hex(16)}` }
  const params = choices.pick<object>([
    {},
    { identifiers },
    { identifiers, title: 'a title', description, category: 'question' },
    { limit: 25, statuses: ['open'] },
    { ticket: identifiers, body: description },
  ])
  return { method, operation_id: `fuzz-${choices.hex(16)}`, params }
}
