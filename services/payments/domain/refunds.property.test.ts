import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { CallResult } from './call-result.ts'
import { decideChargeback, winChargeback } from './chargeback.ts'
import { operationKey } from './operation.ts'
import type { Payment } from './payment.ts'
import { paymentToProto } from './payment-to-proto.ts'
import { holdIdOfRefund } from './refund.ts'
import { applyRefundHold, beginApproval, decideClosing, decideReservation } from './refund-transitions.ts'

const AMOUNT = 1_000n

/** The books of the test: a second, naive account of what is left of the payment. */
interface Model {
  readonly refunds: Map<string, { readonly amount: bigint; state: string }>
  readonly chargebacks: Map<string, { readonly amount: bigint; is_won: boolean }>
}

interface World {
  payment: Payment
  readonly model: Model
}

type Command = (world: World) => void

const at = new Date(CREATED_AT.getTime() + 60_000)
const poll_at = new Date(at.getTime() + 60_000)

function sum(amounts: Iterable<bigint>): bigint {
  let total = 0n
  for (const amount of amounts) total += amount
  return total
}

function used({ refunds, chargebacks }: Model, states: readonly string[]): bigint {
  const refunded = [...refunds.values()].filter(({ state }) => states.includes(state))
  const lost = [...chargebacks.values()].filter(({ is_won }) => !is_won)
  return sum(refunded.map(({ amount }) => amount)) + sum(lost.map(({ amount }) => amount))
}

const activeOf = ({ refunds }: Model) =>
  [...refunds].find(([, { state }]) => ['pending', 'approving', 'approved'].includes(state))

/** S8: the expected refusal of a request. */
function expectedRefusal(model: Model, amount: bigint | undefined): number | undefined {
  const left = AMOUNT - used(model, ['completed'])
  if (left <= 0n) return 11002
  if (activeOf(model)) return 11005
  return (amount ?? left) > left ? 11004 : undefined
}

const ids = fc.nat({ max: 12 }).map((number) => `r-${number}`)

const request: fc.Arbitrary<Command> = fc
  .tuple(ids, fc.option(fc.bigInt({ min: 1n, max: 1_200n }), { nil: undefined }))
  .map(([refund_id, amount]) => (world) => {
    const { model } = world
    const is_known = model.refunds.has(refund_id)
    const was_refused = world.payment.reservation_refusals?.find(({ id }) => id === refund_id)?.code
    const expected = is_known ? undefined : (was_refused ?? expectedRefusal(model, amount))
    const asked = { refund_id, c_id: refund_id, reason: '', ...(amount === undefined ? {} : { amount }) }
    const { payment, refused_code } = decideReservation(world.payment, asked, at)
    expect(refused_code).toBe(expected)
    world.payment = payment
    if (is_known || expected !== undefined) return
    const left = AMOUNT - used(model, ['completed'])
    model.refunds.set(refund_id, { amount: amount ?? left, state: 'pending' })
  })

const approve: fc.Arbitrary<Command> = fc.boolean().map((has_funds) => (world) => {
  const [refund_id, refund] = activeOf(world.model) ?? []
  if (refund_id === undefined || refund === undefined) return
  const begun = beginApproval(world.payment, refund_id, at)
  const is_excess = refund.amount > AMOUNT - used(world.model, ['completed'])
  expect(begun.refused_code).toBe(refund.state === 'pending' && is_excess ? 11004 : undefined)
  world.payment = begun.payment
  if (refund.state !== 'pending' || is_excess) return
  const record = begun.payment.refunds?.find((one) => one.refund_id === refund_id)
  if (record?.state !== 'approving') throw new Error('the approval has not begun')
  const decision = { refund_id, hold_id: holdIdOfRefund(record) }
  const refused_code = has_funds ? undefined : 6004
  const decided = applyRefundHold(begun.payment, { ...decision, refused_code }, at)
  // A decision that arrives again, or that of another hold, changes nothing.
  const earlier = { refund_id, hold_id: `${refund_id}:hold:0`, refused_code: 6004 } as const
  expect(applyRefundHold(begun.payment, earlier, at)).toBe(begun.payment)
  expect(applyRefundHold(decided, { ...decision, refused_code: has_funds ? 6004 : undefined }, at)).toBe(
    decided,
  )
  world.payment = decided
  if (has_funds) refund.state = 'approved'
})

const close: fc.Arbitrary<Command> = fc
  .tuple(ids, fc.constantFrom('rejected' as const, 'canceled' as const))
  .map(([refund_id, status]) => (world) => {
    const refund = world.model.refunds.get(refund_id)
    if (!refund) return
    const { payment, refused_code } = decideClosing(world.payment, { refund_id, status, reason: '' }, at)
    const may_close = refund.state === 'pending' || refund.state === status
    expect(refused_code).toBe(may_close ? undefined : 8801)
    world.payment = payment
    if (refund.state === 'pending') refund.state = status
  })

const RESULTS: readonly CallResult['kind'][] = [
  'success',
  'pending',
  'declined',
  'canceled',
  'not_sent',
  'unknown',
]

function resultOf(kind: CallResult['kind'], amount: bigint): CallResult {
  switch (kind) {
    case 'success':
      return { kind, provider_id: 'p', amount: { minor: amount, currency: 'INR' }, completed_at: at }
    case 'pending':
      return { kind, provider_id: 'p' }
    case 'declined':
    case 'canceled':
      return { kind, code: 6044 }
    default:
      return { kind, reason: 'no response' }
  }
}

const report: fc.Arbitrary<Command> = fc
  .tuple(fc.option(ids, { freq: 2, nil: undefined }), fc.constantFrom(...RESULTS), fc.boolean())
  .map(([any_id, kind, is_whole]) => (world) => {
    const refund_id = any_id ?? activeOf(world.model)?.[0] ?? 'unknown'
    const refund = world.model.refunds.get(refund_id)
    const amount = (refund?.amount ?? 5n) + (is_whole ? 0n : 1n)
    const is_polled = world.payment.effects.some(
      ({ id }) => id === `${operationKey(world.payment, refund_id)}:poll`,
    )
    world.payment = applyProviderUpdate(world.payment, {
      refund_id,
      result: resultOf(kind, amount),
      at,
      poll_at,
    })
    if (refund?.state !== 'approved') return
    if (kind === 'success' && is_whole) refund.state = 'completed'
    if (kind === 'declined' || kind === 'canceled' || (kind === 'not_sent' && !is_polled))
      refund.state = 'failed'
  })

const chargebackIds = fc.nat({ max: 6 }).map((number) => `c-${number}`)

const chargeback: fc.Arbitrary<Command> = fc
  .tuple(chargebackIds, fc.bigInt({ min: 1n, max: 700n }))
  .map(([chargeback_id, amount]) => (world) => {
    const { model } = world
    const was_refused = world.payment.reservation_refusals?.find(({ id }) => id === chargeback_id)?.code
    const is_known = model.chargebacks.has(chargeback_id)
    const is_excess = amount > AMOUNT - used(model, ['completed', 'approving', 'approved'])
    const asked = { chargeback_id, amount, currency: 'INR', reason_code: '10.4' }
    const { payment, refused_code } = decideChargeback(world.payment, asked, at)
    expect(refused_code).toBe(is_known ? undefined : (was_refused ?? (is_excess ? 11004 : undefined)))
    world.payment = payment
    if (!is_known && refused_code === undefined)
      model.chargebacks.set(chargeback_id, { amount, is_won: false })
  })

const win: fc.Arbitrary<Command> = chargebackIds.map((chargeback_id) => (world) => {
  const known = world.model.chargebacks.get(chargeback_id)
  if (!known) return
  world.payment = winChargeback(world.payment, chargeback_id, at)
  known.is_won = true
})

/** What must hold after every command, whatever came before. */
function check({ payment, model }: World): void {
  const { refunds = [] } = payment
  // S8: money that left or is on its way never exceeds the payment, and one refund is active at most.
  expect(used(model, ['completed', 'approving', 'approved'])).toBeLessThanOrEqual(AMOUNT)
  const states = refunds.map(({ state }) => state)
  expect(
    states.filter((state) => ['pending', 'approving', 'approved'].includes(state)).length,
  ).toBeLessThanOrEqual(1)
  expect(Object.fromEntries(refunds.map(({ refund_id, state }) => [refund_id, state]))).toEqual(
    Object.fromEntries([...model.refunds].map(([refund_id, { state }]) => [refund_id, state])),
  )
  const refunded = sum(
    [...model.refunds.values()].filter(({ state }) => state === 'completed').map((one) => one.amount),
  )
  const expected = refunded === 0n ? 'success' : refunded === AMOUNT ? 'refunded' : 'partially_refunded'
  expect(payment.status).toBe(expected)
  // Each change is reported once, and each hold that was placed is ended once.
  const effect_ids = payment.effects.map(({ id }) => id)
  expect(new Set(effect_ids).size).toBe(effect_ids.length)
  for (const { refund_id, state } of refunds) {
    expect(effect_ids.includes(`${refund_id}:capture`)).toBe(state === 'completed')
    expect(effect_ids.includes(`${refund_id}:release`)).toBe(state === 'failed')
  }
  const { operations } = paymentToProto(payment)
  expect(operations).toHaveLength(
    1 + states.filter((state) => ['approved', 'completed', 'failed'].includes(state)).length,
  )
}

// S7, S8, S9, S10
test('any sequence of refunds and chargebacks keeps the payment within its amount', () => {
  const commands = fc.array(fc.oneof(request, approve, close, report, chargeback, win), {
    maxLength: 60,
    size: 'max',
  })
  fc.assert(
    fc.property(commands, (sequence) => {
      const paid = newDeposit({ status: 'success', amount: AMOUNT, effects: [] })
      const world: World = { payment: paid, model: { refunds: new Map(), chargebacks: new Map() } }
      for (const command of sequence) {
        command(world)
        check(world)
      }
    }),
    { numRuns: propertyRuns(500) },
  )
})
