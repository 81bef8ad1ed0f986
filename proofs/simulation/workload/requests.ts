import type { Choices } from '../parts/random.ts'
import { type History, type PaymentRecord, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { observeId, observePayment, observeStatus } from './observe.ts'
import type { PublicApi, PublicOutcome } from './public-api.ts'

/** What the requests of a merchant need. */
export interface RequestDeps {
  readonly api: PublicApi
  readonly history: History
  readonly choices: Choices
}

/** The codes that no request of the simulation may get: they mean a fault of the system. */
const FAULT_CODE = 2001

/** The answers of a create that leave open whether the payment was stored. */
const OPEN_CODES = [FAULT_CODE, 2002]

/** Whether an answer leaves open whether the payment was stored. */
export function isOpenAnswer(outcome: PublicOutcome): boolean {
  return outcome.kind === 'none' || (outcome.kind === 'error' && OPEN_CODES.includes(outcome.code))
}

/** Sends a create and records what its answer proves. A refusal other than 6009 is judged by `checkRefusal`. */
export async function sendCreate(
  deps: RequestDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
  { body, checkRefusal }: { readonly body: object; readonly checkRefusal: () => void },
): Promise<PublicOutcome> {
  const { api, history, choices } = deps
  record.open_creates += 1
  record.creates += 1
  const outcome = await api.call(choices.pick(merchant.credentials), body)
  if (outcome.kind === 'success') {
    record.open_creates -= 1
    record.created_responses += 1
    if (record.created_responses > 1) history.problems.push(`${record.c_id}: two creates succeeded`)
    observePayment(history, record, outcome.result['payment'])
  } else if (outcome.kind === 'error') {
    checkFault(deps, outcome, 'the create', record)
    if (outcome.code === 6009) {
      record.open_creates -= 1
      // A refused withdrawal of a restored backup has none that a merchant sees (P19).
      const context = outcome.context as { h_id: string } | null
      if (context) observeId(history, record, context.h_id)
    } else if (merchant.access_codes.has(outcome.code)) {
      record.open_creates -= 1
    } else if (!OPEN_CODES.includes(outcome.code)) {
      record.open_creates -= 1
      record.refused_code = outcome.code
      checkRefusal()
    }
  } else if (!outcome.was_sent) record.open_creates -= 1
  return outcome
}

/** Reads the status of a payment. Whether it was found. */
export async function readStatus(
  deps: RequestDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<boolean> {
  const { api, history, choices } = deps
  const was_accepted = record.is_accepted
  const known = record.statuses.length
  const stored = history.stored.get(recordKey(record.merchant_id, record.c_id))
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
    if (record.is_ended) return false
    if (outcome.code === 6010 && stored !== undefined) history.missed.push(stored)
    if (outcome.code === 6010 && was_accepted) {
      history.problems.push(
        `${c_id}: it was accepted, and a later read by ${Object.keys(identifiers)} found nothing`,
      )
    }
  }
  return false
}

/** Requests a callback about the present status of a payment. */
export async function requestNotification(
  deps: RequestDeps,
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

/** Requests the callback about the final status of a payment again. */
export async function requestResend(
  deps: RequestDeps,
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

/**
 * Reads the balance, which shows at least what callbacks announced, without all that may have been withdrawn, refunded or
 * charged back.
 */
export async function readBalance(deps: RequestDeps, merchant: SimulatedMerchant): Promise<boolean> {
  const { api, history, choices } = deps
  const credited = history.creditedOf(merchant.merchant_id)
  const outcome = await api.call(choices.pick(merchant.credentials), { method: 'balance.get', params: {} })
  if (outcome.kind !== 'success') return false
  const { amounts } = outcome.result['balance'] as { amounts: { value: number; currency: string }[] }
  const sums = new Map<string, number>()
  for (const { currency, amount, may_be_returned = false } of credited)
    sums.set(currency, (sums.get(currency) ?? 0) + (may_be_returned ? 0 : amount))
  for (const [currency, sum] of sums) {
    const shown = amounts.find((amount) => amount.currency === currency)?.value ?? 0
    const withdrawn = history.withdrawnOf(merchant.merchant_id, currency)
    if (shown < sum - withdrawn) {
      history.problems.push(
        `merchant ${merchant.merchant_id}: callbacks announced ${sum} ${currency}, it withdrew at most ${withdrawn}, and its balance is ${shown}`,
      )
    }
  }
  return true
}

function checkFault(
  { history }: RequestDeps,
  { code }: { readonly code: number },
  method: string,
  { c_id }: PaymentRecord,
): void {
  if (code === FAULT_CODE) history.problems.push(`${c_id}: ${method} was answered with ${code}`)
}
