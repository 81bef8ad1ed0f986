import { now, sleep } from '#lib/base/time.ts'
import { type CustomerDeps, followUp, isRefusedByRoute, reportRefusal } from './customer.ts'
import { newPaymentRecord, type PaymentRecord, recordKey, webhookUrlOf } from './history.ts'
import { endingAmount, type SimulatedMerchant, type SimulatedWithdrawalRoute } from './merchants.ts'
import { observeId } from './observe.ts'
import type { PublicOutcome } from './public-api.ts'
import { isOpenAnswer, readStatus, sendCreate } from './requests.ts'

/** The refusals of the ledger (P14). The journal shows in the end whether each was right. */
const LEDGER_CODES = [6004, 6005, 6006, 6035]

/** The `c_id`s that several requests use at the same time. */
const SHARED_MAX = 10

/** More than any merchant has, so that the ledger refuses it. */
const OUT_OF_REACH = 9_000_000_000_000

/**
 * Makes withdrawals for a merchant until the simulation closes: near its balance and near the limits, also under a `c_id`
 * that another request uses at that moment, or that a refusal has freed.
 */
export async function runWithdrawals(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  number: number,
): Promise<void> {
  const { choices, isOpen, suffix = '' } = deps
  for (let count = 0; isOpen(); count += 1) {
    const c_id = choices.chance(0.2)
      ? `shared-withdrawal-${choices.integer(1, SHARED_MAX)}`
      : `withdrawal-${number}-${count}`
    await withdraw(deps, merchant, `${c_id}${suffix}`)
    if (!isOpen()) return
    await sleep(choices.between(0, choices.pick([5, 20, 200])))
  }
}

async function withdraw(deps: CustomerDeps, merchant: SimulatedMerchant, c_id: string): Promise<void> {
  const record = await recordOf(deps, merchant, c_id)
  record.clients += 1
  const began_at = now()
  const rivals = deps.choices.chance(0.15) ? deps.choices.integer(1, 3) : 0
  await Promise.all([
    createUntilAnswered(deps, merchant, record),
    ...Array.from({ length: rivals }, () => askTooMuch(deps, merchant, record)),
  ])
  if (rivals === 0 && !c_id.startsWith('shared')) await repeatRefused(deps, merchant, record, began_at)
  record.clients -= 1
  await followUp(deps, merchant, record)
}

/** Repetitions of a refused request within this time get the same refusal; the clocks of processes may be off by seconds. */
const REFUSED_FOR_MS = 50_000

/** Sends a refused request again, as it was: a repetition in transit, or an attacker's. Soon after the refusal it never pays (P3). */
async function repeatRefused(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
  began_at: Date,
): Promise<void> {
  const { choices, history, isOpen } = deps
  const { c_id, refused_code = 0 } = record
  if (!isFreed(record) || !LEDGER_CODES.includes(refused_code) || choices.chance(0.5)) return
  await sleep(choices.pick([0, 100, 5_000, 30_000]))
  if (!isOpen()) return
  const outcome = await create(deps, merchant, record)
  const took_ms = now().getTime() - began_at.getTime()
  if (outcome.kind === 'success' && took_ms < REFUSED_FOR_MS)
    history.problems.push(
      `${c_id}: its repetition paid ${took_ms} ms after it was refused with ${refused_code}`,
    )
}

async function createUntilAnswered(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<void> {
  const { choices, isOpen } = deps
  for (let tries = 1; tries <= 4; tries += 1) {
    // A second request under the c_id meets the withdrawal while the ledger decides.
    const [outcome] = await Promise.all([
      create(deps, merchant, record),
      ...(choices.chance(0.1) ? [meet(deps, merchant, record)] : []),
    ])
    if (!isOpenAnswer(outcome) || !isOpen()) return
    await sleep(choices.between(10, 1_000))
    if (choices.chance(0.5) && (await readStatus(deps, merchant, record))) return
  }
}

/** Asks for a withdrawal, or for its status, while another request creates it. */
async function meet(deps: CustomerDeps, merchant: SimulatedMerchant, record: PaymentRecord): Promise<void> {
  const { choices } = deps
  await sleep(choices.between(0, choices.pick([5, 50, 1_000])))
  if (choices.chance(0.5)) await create(deps, merchant, record)
  else await readStatus(deps, merchant, record)
}

/**
 * Asks for more than there is under the `c_id` of another request, at that moment. The ledger refuses it, which frees the
 * `c_id` for the other request, or it is a duplicate of the other one. It never succeeds with the payment of the other one.
 */
async function askTooMuch(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<void> {
  const { choices, history } = deps
  const { merchant_id, c_id, service_id, currency } = record
  const request = { service_id, currency, amount: OUT_OF_REACH, webhook_origin: undefined }
  const too_much = newPaymentRecord({ direction: 'out', merchant_id, c_id }, request)
  await sleep(choices.between(0, choices.pick([1, 10, 50])))
  await create(deps, merchant, too_much)
  if (too_much.h_id !== undefined) observeId(history, record, too_much.h_id)
}

/** The record of a `c_id`: a new one when no request used it, or when a refusal has freed it and no client goes on. */
async function recordOf(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  c_id: string,
): Promise<PaymentRecord> {
  const { choices, history, origins } = deps
  const key = recordKey(merchant.merchant_id, c_id)
  const route = choices.pick(merchant.withdrawal_routes)
  const amount = await amountFor(deps, merchant, route)
  const existing = history.payments.get(key)
  if (existing !== undefined && (existing.clients > 0 || !isFreed(existing))) return existing
  const record = newPaymentRecord(
    { direction: 'out', merchant_id: merchant.merchant_id, c_id },
    {
      service_id: route.service_id,
      amount,
      currency: choices.chance(0.02) ? 'EUR' : route.currency,
      webhook_origin: choices.chance(0.3) ? choices.pick(origins) : undefined,
    },
  )
  history.payments.set(key, record)
  return record
}

/** Whether a refusal was the last that happened under a `c_id`. */
function isFreed({ is_accepted, open_creates, refused_code }: PaymentRecord): boolean {
  return !is_accepted && open_creates === 0 && refused_code !== undefined
}

/** A small amount, one near a limit of the route, or one near the balance. */
async function amountFor(
  { api, choices }: CustomerDeps,
  { credentials }: SimulatedMerchant,
  { minimum_amounts, limits, currency, digits }: SimulatedWithdrawalRoute,
): Promise<number> {
  const near = async (): Promise<number> => {
    const bounds = [minimum_amounts.at(-1), ...Object.values(limits.at(-1) ?? {})]
    if (choices.chance(0.5)) return choices.pick(bounds) ?? 0
    const outcome = await api.call(choices.pick(credentials), { method: 'balance.get', params: {} })
    if (outcome.kind !== 'success') return 0
    const { amounts } = outcome.result['balance'] as { amounts: { value: number; currency: string }[] }
    return amounts.find((amount) => amount.currency === currency)?.value ?? 0
  }
  const drawn = await choices.weighted<() => number | Promise<number>>([
    [6, () => choices.integer(1, 20_000)],
    [2, () => choices.integer(1, 400_000)],
    [2, async () => (await near()) + choices.integer(-1, 1)],
  ])()
  const amount = Math.max(1, drawn)
  return endingAmount(
    digits === undefined || choices.chance(0.3)
      ? amount
      : amount - (amount % 1_000) + 1_000 + choices.pick(digits),
  )
}

async function create(
  deps: CustomerDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<PublicOutcome> {
  const { history } = deps
  const { c_id, service_id, amount: value, currency, creates } = record
  const webhook_url = webhookUrlOf(record)
  const route = merchant.withdrawal_routes.find((one) => one.service_id === service_id)
  const was_freed = isFreed(record)
  const body = {
    method: 'payment.out',
    service_id,
    params: {
      payment: {
        identifiers: { c_id },
        amount: { value, currency },
        receiver: { bank: route?.bank, person: { first_name: 'Asha', last_name: 'Rao' } },
        ...(webhook_url === undefined ? {} : { webhook_url }),
      },
    },
  }
  const checkRefusal = (): void => {
    const { merchant_id, amount, currency, refused_code: code = 0 } = record
    if (LEDGER_CODES.includes(code)) history.refusals.push({ merchant_id, c_id, amount, currency, code })
    else if (!isRefusedByRoute(record, route)) reportRefusal(deps, record)
  }
  const outcome = await sendCreate(deps, merchant, record, { body, checkRefusal })
  const is_duplicate = outcome.kind === 'error' && outcome.code === 6009
  if (was_freed && is_duplicate && record.creates === creates + 1)
    history.problems.push(`${c_id}: it was refused, and its c_id was not free for the next create`)
  return outcome
}
