import { sleep } from '#lib/base/time.ts'
import { decideRefund, moveChargeback, openChargeback, takeFunds } from './disputes.ts'
import { type PaymentRecord, type RefundRecord, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { type SupportDeps, sendMutation } from './mutations.ts'
import { isOpenAnswer, readStatus } from './requests.ts'

/** How many rounds in a row are about one payment, on average. */
const ROUNDS_PER_PAYMENT = 6
/** The most acts about one payment at the same time. */
const ACTS_MAX = 4
/** Each payment has few refunds, so that their requests are repeated. */
const REFUNDS_PER_PAYMENT = 6
/** The share of choices that may fall on a payment without a success in any response. */
const UNPAID = 0.03

/**
 * A merchant that requests refunds of its deposits and comments on them, an operator that decides about them, and a bank
 * that demands chargebacks. Several of them act on one payment at the same time, and each mutation is sent again and again. The ids
 * of its operations follow from the numbers of the rounds.
 */
export async function runRefundDesk(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  first_round = 0,
): Promise<void> {
  const { choices, isOpen } = deps
  let payment: PaymentRecord | undefined
  for (let round = first_round; isOpen(); round += 1) {
    if (payment === undefined || choices.chance(1 / ROUNDS_PER_PAYMENT))
      payment = choosePayment(deps, merchant)
    const chosen = payment
    if (chosen !== undefined) {
      const acts = choices.integer(1, ACTS_MAX)
      await Promise.all(
        Array.from({ length: acts }, () => choices.weighted(ACTS)(deps, merchant, chosen, round)),
      )
    }
    await sleep(choices.between(0, choices.pick([20, 100, 300])))
  }
}

type Act = (
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  payment: PaymentRecord,
  round: number,
) => Promise<unknown>

const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [5, requestRefund],
  [5, decideRefund],
  [2, openChargeback],
  [2, moveChargeback],
  [1, comment],
  [1, readRefund],
  [1, readStatus],
  [0.3, takeFunds],
]

/** One of the last deposits that were paid, or any other one. */
function choosePayment(
  { history, choices }: SupportDeps,
  { merchant_id }: SimulatedMerchant,
): PaymentRecord | undefined {
  const isOurs = (record: PaymentRecord): boolean =>
    record.merchant_id === merchant_id && record.direction === 'in'
  const source = choices.chance(UNPAID)
    ? [...history.payments.values()].filter((record) => record.is_accepted)
    : [...history.paid]
  const found = source.filter(isOurs).slice(-10)
  return found.length === 0 ? undefined : choices.pick(found)
}

/** The refunds of a payment that its merchant has asked for. */
function refundsOf(
  { history }: Pick<SupportDeps, 'history'>,
  payment: PaymentRecord,
): readonly RefundRecord[] {
  return [...history.refunds.values()].filter((refund) => refund.payment === payment)
}

/** The record of a `c_id`. All its requests are the same, so that they are repetitions. */
function recordOf({ history, choices }: SupportDeps, payment: PaymentRecord): RefundRecord {
  const { merchant_id } = payment
  const c_id = `refund-${payment.c_id}-${choices.integer(1, REFUNDS_PER_PAYMENT)}`
  const key = recordKey(merchant_id, c_id)
  const existing = history.refunds.get(key)
  if (existing !== undefined) return existing
  const part = choices.integer(1, payment.amount)
  const amount = choices.weighted([
    [2, undefined],
    [4, part],
    [2, Math.max(1, Math.floor(part / 10))],
    [1, payment.amount],
    [1, payment.amount + 1],
  ])
  const record: RefundRecord = { merchant_id, c_id, payment, amount }
  history.refunds.set(key, record)
  return record
}

/** The request for a refund, the same each time. */
export function refundRequest({ c_id, payment, amount }: RefundRecord): { method: string; params: object } {
  const params = {
    identifiers: { c_id },
    payment: { c_id: payment.c_id },
    ...(amount === undefined ? {} : { amount: `${amount}` }),
    reason: c_id,
  }
  return { method: 'refund.request', params }
}

/** The codes that refuse a refund by what the payment has left (S8). */
const CAP_CODES = [11002, 11004, 11005]
/** A quota that is used up, which says nothing about the refund. */
const QUOTA_CODE = 1000

function requestRefund(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  payment: PaymentRecord,
): Promise<void> {
  return requestRefundOf(deps, merchant, recordOf(deps, payment))
}

/** Requests a refund, or repeats its request, and compares the answer with what is known of it. */
export async function requestRefundOf(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  record: RefundRecord,
): Promise<void> {
  const { history, choices } = deps
  const { c_id, amount, payment } = record
  payment.may_be_returned = true
  // Of two requests at once, one can be refused before the other one is accepted.
  const was_accepted = record.h_id !== undefined
  const send = () => sendMutation(deps, merchant, { ...refundRequest(record), key: c_id })
  const outcomes = await Promise.all(choices.chance(0.2) ? [send(), send()] : [send()])
  for (const outcome of outcomes) {
    if (outcome.kind === 'success') observeRefund(deps, record, outcome.result)
    else if (outcome.kind === 'error' && !isOpenAnswer(outcome)) {
      const { code } = outcome
      const has_reason =
        merchant.access_codes.has(code) ||
        code === QUOTA_CODE ||
        payment.is_ended === true ||
        (CAP_CODES.includes(code) && (code !== 11004 || amount !== undefined))
      if (!has_reason) history.problems.push(`${c_id}: it was refused with ${code} without a reason`)
      else if (was_accepted && CAP_CODES.includes(code))
        history.problems.push(`${c_id}: it was accepted, and its repetition is refused with ${code}`)
    } else if (outcome.kind === 'error' && outcome.code === 2001)
      history.problems.push(`${c_id}: refund.request was answered with 2001`)
  }
}

/** Records a refund that a response showed, and what it contradicts. */
function observeRefund(
  { history }: SupportDeps,
  record: RefundRecord,
  shown: Readonly<Record<string, unknown>>,
): void {
  const { c_id, payment, amount } = record
  const {
    identifiers,
    payment: of,
    currency,
    amount: value,
  } = shown as {
    identifiers: { c_id: string; h_id: string }
    payment: { c_id: string }
    currency: string
    amount: string
  }
  record.h_id ??= identifiers.h_id
  const is_same =
    identifiers.c_id === c_id &&
    identifiers.h_id === record.h_id &&
    of.c_id === payment.c_id &&
    currency === payment.currency &&
    (amount === undefined ? Number(value) <= payment.amount : value === `${amount}`)
  if (!is_same) history.problems.push(`${c_id}: its refund is shown as ${JSON.stringify(shown)}`)
}

async function comment(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  payment: PaymentRecord,
  round: number,
): Promise<void> {
  const known = refundsOf(deps, payment).filter(({ h_id }) => h_id !== undefined)
  if (known.length === 0) return
  const { c_id } = deps.choices.pick(known)
  // The operation is named by the round of one payment, so it may be sent several times with one text.
  const params = { refund: { c_id }, body: `${c_id} ${round}` }
  const key = round * REFUNDS_PER_PAYMENT + Number(c_id.split('-').at(-1))
  await Promise.all(
    [1, 2].map(() => sendMutation(deps, merchant, { method: 'refund.comment.create', params, key })),
  )
}

async function readRefund(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  payment: PaymentRecord,
): Promise<void> {
  const known = refundsOf(deps, payment).filter(({ h_id }) => h_id !== undefined)
  if (known.length > 0) await readRefundStatus(deps, merchant, deps.choices.pick(known))
}

/** Reads a refund that was shown before, so it must be found. Returns its status, if the read was answered. */
export async function readRefundStatus(
  deps: SupportDeps,
  { credentials }: SimulatedMerchant,
  record: RefundRecord,
): Promise<string | undefined> {
  const { api, history, choices } = deps
  const { c_id, h_id } = record
  const identifiers = choices.chance(0.5) ? { c_id } : { h_id }
  const outcome = await api.call(choices.pick(credentials), { method: 'refund.get', params: { identifiers } })
  if (outcome.kind === 'success') observeRefund(deps, record, outcome.result)
  if (outcome.kind === 'error' && outcome.code === 11001 && !record.is_ended)
    history.problems.push(
      `${c_id}: it was accepted, and a later read by ${Object.keys(identifiers)} found nothing`,
    )
  return outcome.kind === 'success' ? String(outcome.result['status']) : undefined
}
