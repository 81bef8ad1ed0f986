import { sleep } from '#lib/base/time.ts'
import type { Choices } from '../parts/random.ts'
import { newPaymentRecord, type PaymentRecord, recordKey, webhookUrlOf } from './history.ts'
import type { SimulatedMerchant, SimulatedRoute } from './merchants.ts'
import type { PublicOutcome } from './public-api.ts'
import {
  isOpenAnswer,
  type RequestDeps,
  readBalance,
  readStatus,
  requestNotification,
  requestResend,
  sendCreate,
} from './requests.ts'

/** What the customers and the recipients of a merchant need. */
export interface CustomerDeps extends RequestDeps {
  /** The origins of all receivers. */
  readonly origins: readonly string[]
  /** Whether requests may still be made. */
  readonly isOpen: () => boolean
  /** How each new `c_id` ends; nothing unless given. */
  readonly suffix?: string
}

/** Above all minimum amounts. */
const CALM_AMOUNT = 20_000

/** Makes deposits for a merchant, one after the other, and asks about them, until the simulation closes. */
export async function runCustomer(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  number: number,
): Promise<void> {
  const { choices, isOpen, suffix = '' } = deps
  for (let count = 0; isOpen(); count += 1) {
    const c_id = choices.chance(0.1) ? `shared-${choices.integer(1, 20)}` : `order-${number}-${count}`
    await deposit(deps, merchant, `${c_id}${suffix}`)
    if (!isOpen()) return
    await sleep(choices.between(0, choices.pick([5, 20, 200])))
  }
}

async function deposit(deps: CustomerDeps, merchant: SimulatedMerchant, c_id: string): Promise<void> {
  const { choices, isOpen } = deps
  const record = recordOf(deps, merchant, c_id)
  for (let tries = 1; tries <= 4; tries += 1) {
    const outcome = await createDeposit(deps, merchant, record)
    if (!isOpenAnswer(outcome)) break
    if (!isOpen()) return
    await sleep(choices.between(10, 1_000))
    if (choices.chance(0.5) && (await readStatus(deps, merchant, record))) break
  }
  await followUp(deps, merchant, record)
}

/** Asks a few times about an accepted payment. */
export async function followUp(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<void> {
  const { choices, isOpen } = deps
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
  const record = newPaymentRecord(
    { direction: 'in', merchant_id: merchant.merchant_id, c_id },
    {
      service_id: route.service_id,
      amount: amountFor(choices, route),
      currency: choices.chance(0.02) ? 'EUR' : route.currency,
      webhook_origin: choices.chance(0.3) ? choices.pick(origins) : undefined,
    },
  )
  history.payments.set(key, record)
  return record
}

/** Makes one deposit on a route, which its merchant has not used under this `c_id`. */
export async function depositOn(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  { service_id, currency }: SimulatedRoute,
  c_id: string,
): Promise<void> {
  const { merchant_id } = merchant
  const record = newPaymentRecord(
    { direction: 'in', merchant_id, c_id },
    {
      service_id,
      amount: CALM_AMOUNT,
      currency,
      webhook_origin: undefined,
    },
  )
  deps.history.payments.set(recordKey(merchant_id, c_id), record)
  await createDeposit(deps, merchant, record)
}

function amountFor(choices: Choices, { minimum_amounts, digits }: SimulatedRoute): number {
  const [minimum_amount = 0] = minimum_amounts
  if (minimum_amount > 0 && choices.chance(0.1)) return choices.pick([minimum_amount - 1, minimum_amount])
  const amount = choices.integer(Math.max(1, minimum_amount), 1_000_000)
  return digits === undefined ? amount : amount - (amount % 1_000) + 1_000 + choices.pick(digits)
}

/** Sends the create of a deposit. A refusal with `expected_code` has a reason that the caller judges. */
export function createDeposit(
  deps: RequestDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
  expected_code?: number,
): Promise<PublicOutcome> {
  const { c_id, service_id, amount: value, currency } = record
  const webhook_url = webhookUrlOf(record)
  const body = {
    method: 'payment.in',
    service_id,
    params: {
      payment: {
        identifiers: { c_id },
        amount: { value, currency },
        payer: { email: 'customer@example.com' },
        ...(webhook_url === undefined ? {} : { webhook_url }),
      },
    },
  }
  const checkRefusal = (): void => {
    const route = merchant.routes.find((one) => one.service_id === service_id)
    if (record.refused_code !== expected_code && !isRefusedByRoute(record, route)) reportRefusal(deps, record)
  }
  return sendCreate(deps, merchant, record, { body, checkRefusal })
}

/** Whether the merchant can see from its route why a create was refused. */
export function isRefusedByRoute(
  { refused_code, currency, amount }: PaymentRecord,
  route: SimulatedRoute | undefined,
): boolean {
  return (
    (refused_code === 6002 && currency !== route?.currency) ||
    (refused_code === 6001 && amount < Math.max(0, ...(route?.minimum_amounts ?? []))) ||
    (refused_code === 1002 && route?.may_be_closed === true) ||
    (refused_code === 7002 && route?.may_be_down === true)
  )
}

/** Reports a refusal that has no reason that the merchant can see. */
export function reportRefusal({ history }: RequestDeps, { c_id, refused_code }: PaymentRecord): void {
  history.problems.push(`${c_id}: it was refused with ${refused_code} without a reason`)
}
