import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { countedTries, type Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { newEventEffect } from '../domain/payment-event.ts'
import { newDeposit } from '../payment.fixture.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** A publisher whose events fail with an error; `uses_bus` says whether others get receipts from the bus. */
const failing = (uses_bus: boolean, error: Error): Publisher => ({
  publish: () => Promise.reject(error),
  usesBus: () => uses_bus,
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

describe('an event that the notifier did not confirm', () => {
  test.each([
    ['no receipt', new Unavailable('no receipt for an event within the time limit')],
    ['a failed RPC', new PublicError(2002)],
  ])('is due again at once, however often it was tried, without the bus: %s', async (_name, error) => {
    using _ = installManualClock()
    const { effect, deposit } = leasedEvent(7)
    const change = await bindPublishEvent(failing(false, error)).run(effect, deposit)
    const [again, ...more] = change({ ...deposit, effects: [] }).effects
    expect(more).toEqual([])
    const { lease: _lease, ...unleased } = effect
    expect(again).toEqual({ ...unleased, due_at: now(), first_due_at: now(), tries_at_retry: 1 })
    expect(again && countedTries(again)).toBe(6)
  })

  test.each([
    ['without a receipt, while others get theirs', true, new Unavailable('no receipt')],
    ['that the notifier refuses', false, new PublicError(9000)],
  ])('is a failed try %s', async (_name, uses_bus, error) => {
    const { effect, deposit } = leasedEvent(1)
    await expect(bindPublishEvent(failing(uses_bus, error)).run(effect, deposit)).rejects.toThrow(error)
  })
})
