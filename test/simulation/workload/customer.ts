import { sleep } from '#lib/platform/time.ts'
import type { Choices } from '../parts/random.ts'
import { type History, type PaymentRecord, recordKey } from './history.ts'
import type { SimulatedMerchant, SimulatedRoute } from './merchants.ts'
import { observeId, observePayment, observeStatus } from './observe.ts'
import type { PublicApi, PublicOutcome } from './public-api.ts'

/** What the requests of a merchant need. */
export interface CustomerDeps {
  readonly api: PublicApi
  readonly history: History
  readonly choices: Choices
  /** The origins of all receivers. */
  readonly origins: readonly string[]
  /** Whether requests may still be made. */
  readonly isOpen: () => boolean
}

/** The answers of a create that leave open whether the payment was stored. */
const OPEN_CODES = [2001, 2002]

/** The codes that no request of the simulation may get: they mean a fault of the system. */
const FAULT_CODE = 2001

/** Makes deposits for a merchant, one after the other, and asks about them, until the simulation closes. */
export async function runCustomer(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  number: number,
): Promise<void> {
  const { choices, isOpen } = deps
  for (let count = 0; isOpen(); count += 1) {
    const c_id = choices.chance(0.1) ? `shared-${choices.integer(1, 20)}` : `order-${number}-${count}`
    await deposit(deps, merchant, c_id)
    if (!isOpen()) return
    await sleep(choices.between(0, choices.pick([5, 20, 200])))
  }
}

async function deposit(deps: CustomerDeps, merchant: SimulatedMerchant, c_id: string): Promise<void> {
  const { choices, isOpen } = deps
  const record = recordOf(deps, merchant, c_id)
  for (let tries = 1; tries <= 4; tries += 1) {
    const outcome = await create(deps, merchant, record)
    if (outcome.kind !== 'none' && !(outcome.kind === 'error' && OPEN_CODES.includes(outcome.code))) break
    if (!isOpen()) return
    await sleep(choices.between(10, 1_000))
    if (choices.chance(0.5) && (await readStatus(deps, merchant, record))) break
  }
  const follow_ups = choices.integer(0, 2)
  for (let index = 0; index < follow_ups && record.is_accepted && isOpen(); index += 1) {
    await sleep(choices.between(0, choices.pick([10, 100, 1_000])))
    await choices.weighted([
      [6, readStatus],
      [1, requestNotification],
      [1, requestResend],
      [2, readBalance],
    ] as const)(deps, merchant, record)
  }
}

/** The record of a `c_id`. A merchant that uses one again may ask for something else; the first request decides. */
function recordOf(
  { choices, history, origins }: CustomerDeps,
  merchant: SimulatedMerchant,
  c_id: string,
): PaymentRecord {
  const key = recordKey(merchant.merchant_id, c_id)
  const existing = history.payments.get(key)
  if (existing !== undefined) return existing
  const route = choices.pick(merchant.routes)
  const record: PaymentRecord = {
    merchant_id: merchant.merchant_id,
    c_id,
    service_id: route.service_id,
    amount: amountFor(choices, route),
    currency: choices.chance(0.02) ? 'EUR' : route.currency,
    webhook_origin: choices.chance(0.3) ? choices.pick(origins) : undefined,
    is_accepted: false,
    open_creates: 0,
    statuses: [],
    created_responses: 0,
  }
  history.payments.set(key, record)
  return record
}

function amountFor(choices: Choices, { minimum_amounts, digits }: SimulatedRoute): number {
  const [minimum_amount = 0] = minimum_amounts
  if (minimum_amount > 0 && choices.chance(0.1)) return choices.pick([minimum_amount - 1, minimum_amount])
  const amount = choices.integer(Math.max(1, minimum_amount), 1_000_000)
  return digits === undefined ? amount : amount - (amount % 1_000) + 1_000 + choices.pick(digits)
}

async function create(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<PublicOutcome> {
  const { api, history, choices } = deps
  const { c_id, service_id, amount: value, currency, webhook_origin } = record
  record.open_creates += 1
  const outcome = await api.call(choices.pick(merchant.credentials), {
    method: 'payment.in',
    service_id,
    params: {
      payment: {
        identifiers: { c_id },
        amount: { value, currency },
        payer: { email: 'customer@example.com' },
        ...(webhook_origin === undefined ? {} : { webhook_url: `${webhook_origin}/payment` }),
      },
    },
  })
  if (outcome.kind === 'success') {
    record.open_creates -= 1
    record.created_responses += 1
    if (record.created_responses > 1) history.problems.push(`${c_id}: two creates succeeded`)
    observePayment(history, record, outcome.result['payment'])
  } else if (outcome.kind === 'error') {
    checkFault(deps, outcome, 'payment.in', record)
    if (outcome.code === 6009) {
      record.open_creates -= 1
      const { h_id } = outcome.context as { h_id: string }
      observeId(history, record, h_id)
    } else if (merchant.access_codes.has(outcome.code)) {
      record.open_creates -= 1
    } else if (!OPEN_CODES.includes(outcome.code)) {
      record.open_creates -= 1
      record.refused_code = outcome.code
      checkRefusal(deps, merchant, record)
    }
  } else if (!outcome.was_sent) record.open_creates -= 1
  return outcome
}

/** A refusal must have a reason that the merchant can see. */
function checkRefusal({ history }: CustomerDeps, merchant: SimulatedMerchant, record: PaymentRecord): void {
  const { refused_code, currency, amount, service_id } = record
  const route = merchant.routes.find((one) => one.service_id === service_id)
  const is_right =
    (refused_code === 6002 && currency !== route?.currency) ||
    (refused_code === 6001 && amount < Math.max(0, ...(route?.minimum_amounts ?? []))) ||
    (refused_code === 1002 && route?.may_be_closed === true)
  if (!is_right) history.problems.push(`${record.c_id}: it was refused with ${refused_code} without a reason`)
}

/** Whether the payment was found. */
async function readStatus(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<boolean> {
  const { api, history, choices } = deps
  const was_accepted = record.is_accepted
  const known = record.statuses.length
  const { c_id, h_id } = record
  const identifiers = choices.pick([{ c_id }, ...(h_id === undefined ? [] : [{ h_id }, { c_id, h_id }])])
  const outcome = await api.call(choices.pick(merchant.credentials), {
    method: 'payment.status',
    params: { payment: { identifiers } },
  })
  if (outcome.kind === 'success') {
    const { status } = observePayment(history, record, outcome.result['payment'])
    observeStatus(history, record, status.status, known)
    return true
  }
  if (outcome.kind === 'error') {
    checkFault(deps, outcome, 'payment.status', record)
    if (outcome.code === 6010 && was_accepted) {
      history.problems.push(
        `${c_id}: it was accepted, and a later read by ${Object.keys(identifiers)} found nothing`,
      )
    }
  }
  return false
}

async function requestNotification(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<boolean> {
  const { api, history, choices } = deps
  const { c_id } = record
  const operation_id = choices.chance(0.7) ? `notify-${c_id}-${choices.integer(1, 3)}` : undefined
  const outcome = await api.call(choices.pick(merchant.credentials), {
    method: 'payment.notification',
    operation_id,
    params: { payment: { identifiers: { c_id } } },
  })
  if (outcome.kind === 'success') observePayment(history, record, outcome.result['payment'])
  if (outcome.kind === 'error') checkFault(deps, outcome, 'payment.notification', record)
  return outcome.kind === 'success'
}

async function requestResend(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<boolean> {
  const { api, choices, history } = deps
  const { h_id } = record
  if (h_id === undefined) return false
  const operation_id = `resend-${h_id}-${choices.integer(1, 2)}`
  const outcome = await api.resend(choices.pick(merchant.credentials), h_id, {
    payment_id: h_id,
    operation_id,
  })
  if (outcome.kind === 'error') checkFault(deps, outcome, 'webhook.resend', record)
  if (outcome.kind !== 'success') return false
  const ids = String(outcome.result['delivery_ids'])
  const earlier = history.resends.get(operation_id)
  if (earlier !== undefined && earlier !== ids) {
    history.problems.push(
      `${operation_id}: its deliveries were ${earlier}, and are ${ids} after a repetition`,
    )
  }
  history.resends.set(operation_id, ids)
  return true
}

async function readBalance(deps: CustomerDeps, merchant: SimulatedMerchant): Promise<boolean> {
  const { api, history, choices } = deps
  const credited = history.creditedOf(merchant.merchant_id)
  const outcome = await api.call(choices.pick(merchant.credentials), { method: 'balance.get', params: {} })
  if (outcome.kind !== 'success') return false
  const { amounts } = outcome.result['balance'] as { amounts: { value: number; currency: string }[] }
  for (const [currency, sum] of credited) {
    const shown = amounts.find((amount) => amount.currency === currency)?.value ?? 0
    if (shown < sum) {
      history.problems.push(
        `merchant ${merchant.merchant_id}: callbacks announced ${sum} ${currency}, and its balance is ${shown}`,
      )
    }
  }
  return true
}

function checkFault(
  { history }: CustomerDeps,
  { code }: { readonly code: number },
  method: string,
  { c_id }: PaymentRecord,
): void {
  if (code === FAULT_CODE) history.problems.push(`${c_id}: ${method} was answered with ${code}`)
}
