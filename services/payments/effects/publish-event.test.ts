import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { countedTries, type Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { newEventEffect } from '../domain/payment-event.ts'
import { newDeposit } from '../payment.fixture.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** A publisher whose events get no receipt; `gets_receipts` says whether others do. */
const withoutReceipt = (gets_receipts: boolean): Publisher => ({
  publish: () => Promise.reject(new Unavailable('no receipt for an event within the time limit')),
  getsReceipts: () => gets_receipts,
  budget: createBudget(1),
  close: async () => {},
})

const bindPublishEvent = (publisher: Publisher) =>
  bindPaymentEffect(publishEventEffect, publishEventHandler(publisher))

/** A leased event of a deposit, and the deposit that has it. */
function leasedEvent(tries: number) {
  const deposit = newDeposit()
  const lease = { token: 'a', until: new Date(now().getTime() + 5_000) }
  const effect: Effect = { ...newEventEffect(deposit, 'payment.created', { at: now() }), tries, lease }
  return { effect, deposit: { ...deposit, effects: [effect], version: 1 } }
}

describe('an event without a receipt', () => {
  test('is due again at once, however often it was tried, while no event gets one', async () => {
    using _ = installManualClock()
    const { effect, deposit } = leasedEvent(7)
    const change = await bindPublishEvent(withoutReceipt(false)).run(effect, deposit)
    const [again, ...more] = change({ ...deposit, effects: [] }).effects
    expect(more).toEqual([])
    const { lease: _lease, ...unleased } = effect
    expect(again).toEqual({ ...unleased, due_at: now(), first_due_at: now(), tries_at_retry: 1 })
    expect(again && countedTries(again)).toBe(6)
  })

  test('is a failed try while others get theirs', async () => {
    const { effect, deposit } = leasedEvent(1)
    await expect(bindPublishEvent(withoutReceipt(true)).run(effect, deposit)).rejects.toThrow(Unavailable)
  })
})
