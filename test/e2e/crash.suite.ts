import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import type { PublicResponse } from '../support/public-client.ts'
import type { Receiver } from '../support/receiver.ts'
import type { TestSystem } from '../support/system.ts'
import { verifyLedgerOf } from '../support/verification.ts'

const DEPOSITS = 60
/** A mix of sandbox outcomes: success by callback and by polling, refusals, and outcomes that are unknown at first. */
const DIGITS = [0, 0, 0, 901, 902, 904, 906, 908, 909, 910, 913, 915]
const CONCURRENCY = 12
const LIMIT_MS = 300_000

/** The final status that the sandbox gives to a deposit of this amount. */
function finalStatusOf(value: number): string {
  const digits = value % 1_000
  if (digits === 901 || digits === 902) return 'error'
  return digits === 906 ? 'canceled' : 'success'
}

/** Deposits that are created during a failure. */
export interface Storm {
  /** The number of responses so far. */
  answered(): number
  /** Resolves when every request has a response or has failed. */
  readonly over: Promise<void>
  /** By `c_id`: the requested amount, and the response if there was one. */
  readonly deposits: ReadonlyMap<string, StormDeposit>
}

interface StormDeposit {
  readonly value: number
  response?: PublicResponse
}

/** Creates 60 deposits, 12 at a time. Failed requests are not repeated. */
export function beginStorm(alpha: MerchantClient, receiver: Receiver): Storm {
  const deposits = new Map<string, StormDeposit>()
  const queue = Array.from({ length: DEPOSITS }, (_, index) => {
    const deposit: StormDeposit = { value: 100_000 * (index + 1) + (DIGITS[index % DIGITS.length] ?? 0) }
    const c_id = randomUUID()
    deposits.set(c_id, deposit)
    return { c_id, deposit }
  }).values()
  let answered = 0
  const work = async (): Promise<void> => {
    for (const { c_id, deposit } of queue) {
      const response = await alpha
        .deposit(deposit.value, { c_id, webhook_url: receiver.url })
        .catch(() => undefined)
      if (!response) continue
      deposit.response = response
      answered += 1
    }
  }
  const over = Promise.all(Array.from({ length: CONCURRENCY }, work)).then(() => {})
  return { answered: () => answered, over, deposits }
}

/**
 * Checks the system after its recovery: every accepted deposit is final, refused ones are not stored, the balance is the
 * sum of the successes, the ledger is consistent, and every completion was called back. If the provider itself was
 * killed, a deposit may also have failed (`ends_as_planned` is false).
 */
export async function expectNothingLost(
  system: TestSystem,
  receiver: Receiver,
  { deposits }: Storm,
  opening: number,
  ends_as_planned = true,
): Promise<void> {
  const alpha = merchantClient(system.demo)
  let paid = 0
  let accepted = 0
  for (const [c_id, { value, response }] of deposits) {
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
    paid += value
    await eventually(
      async () => receiver.of(c_id).some(({ body }) => body.id.endsWith(':payment.completed')),
      (received) => received === true,
      LIMIT_MS,
    )
  }
  expect(accepted).toBeGreaterThan(0)
  await eventually(
    () => alpha.available(),
    (available) => available === opening + paid,
    LIMIT_MS,
  )
  expect(await verifyLedgerOf(operatorOf(system.demo()))).toMatchObject({ consistent: true })
}
