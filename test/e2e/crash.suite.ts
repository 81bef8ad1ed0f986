import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import type { PublicResponse } from '../support/public-client.ts'
import type { Receiver } from '../support/receiver.ts'
import type { TestSystem } from '../support/system.ts'
import { verifyLedgerOf } from '../support/verification.ts'

const PAYMENTS = 60
/** The responses after which a test does harm, so that payments are in every state. */
const BEGUN = 15
/** A mix of sandbox outcomes: success by callback and by polling, refusals, and outcomes that are unknown at first. */
const DIGITS = [0, 0, 0, 901, 902, 904, 906, 908, 909, 910, 913, 915]
const CONCURRENCY = 12
const LIMIT_MS = 300_000

/** The final status that the sandbox gives to a payment of this amount. */
export function finalStatusOf(value: number): string {
  const digits = value % 1_000
  if (digits === 901 || digits === 902) return 'error'
  return digits === 906 ? 'canceled' : 'success'
}

/** Deposits and withdrawals that are created during a failure. */
export interface Storm {
  /** Resolves after the first 15 responses, or when the storm is over. */
  readonly begun: Promise<void>
  /** Resolves when every request has a response or has failed. */
  readonly over: Promise<void>
  /** By `c_id`: the direction, the requested amount, and the response if there was one. */
  readonly payments: ReadonlyMap<string, StormPayment>
}

/** A payment that a load has created: its direction, the requested amount, and the response if there was one. */
export interface StormPayment {
  readonly direction: 'in' | 'out'
  readonly value: number
  response?: PublicResponse
}

/** Creates 60 payments, deposits and withdrawals in turn, 12 at a time. Failed requests are not repeated. */
export function beginStorm(alpha: MerchantClient, receiver: Receiver): Storm {
  const payments = new Map<string, StormPayment>()
  const queue = Array.from({ length: PAYMENTS }, (_, index) => {
    const number = Math.floor(index / 2)
    const direction = index % 2 === 0 ? 'in' : 'out'
    const value = 100_000 * (index + 1) + (DIGITS[number % DIGITS.length] ?? 0)
    const payment: StormPayment = { direction, value }
    const c_id = randomUUID()
    payments.set(c_id, payment)
    return { c_id, payment }
  }).values()
  let answered = 0
  const begun = Promise.withResolvers<void>()
  const work = async (): Promise<void> => {
    for (const { c_id, payment } of queue) {
      const create = payment.direction === 'in' ? alpha.deposit : alpha.withdraw
      const options = { c_id, webhook_url: receiver.url }
      const response = await create(payment.value, options).catch(() => undefined)
      if (!response) continue
      payment.response = response
      answered += 1
      if (answered === BEGUN) begun.resolve()
    }
  }
  const over = Promise.all(Array.from({ length: CONCURRENCY }, work)).then(() => begun.resolve())
  return { begun: begun.promise, over, payments }
}

/**
 * Checks the system after its recovery: every accepted payment is final, refused ones are not stored, the balance is the
 * sum of the successes and holds nothing, the ledger is consistent, and every completion was called back. If the provider
 * itself was killed, a payment may also have failed (`ends_as_planned` is false).
 */
export async function expectNothingLost(
  system: Pick<TestSystem, 'demo'>,
  receiver: Receiver,
  { payments }: Pick<Storm, 'payments'>,
  opening: number,
  ends_as_planned = true,
): Promise<void> {
  const alpha = merchantClient(system.demo)
  let paid = 0
  let accepted = 0
  for (const [c_id, { direction, value, response }] of payments) {
    const found = await eventually(
      () => alpha.status(c_id).catch(() => undefined),
      (seen) => seen?.body?.result?.payment.status.final || seen?.body?.error?.code === 6010,
      LIMIT_MS,
    )
    const payment = found?.body.result?.payment
    if (response?.body?.success) {
      accepted += 1
      expect({ c_id, payment }).toMatchObject({ c_id, payment: { identifiers: { c_id } } })
    }
    if (payment && ends_as_planned) {
      const { status } = payment.status
      expect({ c_id, value, status }).toEqual({ c_id, value, status: finalStatusOf(value) })
    }
    if (payment?.status.status !== 'success') continue
    paid += direction === 'in' ? value : -value
    await eventually(
      async () => receiver.of(c_id).some(({ body }) => body.id.endsWith(':payment.completed')),
      (received) => received === true,
      LIMIT_MS,
    )
  }
  expect(accepted).toBeGreaterThan(0)
  await eventually(
    () => alpha.balance(),
    (balance) => balance?.value === opening + paid && balance.value_freezing === 0,
    LIMIT_MS,
  )
  expect(await verifyLedgerOf(operatorOf(system.demo()))).toMatchObject({ consistent: true })
}
