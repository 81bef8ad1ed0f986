import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ReceiveEventResponseSchema } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createCallPublisher, type EventReceiver } from './publish-by-call.ts'

const EVENT = Buffer.from('an event')
let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A notifier that receives each event when the test says how it ends. */
function openNotifier() {
  const waiting: PromiseWithResolvers<void>[] = []
  const notifier: EventReceiver = {
    async receiveEvent() {
      const call = Promise.withResolvers<void>()
      waiting.push(call)
      await call.promise
      return create(ReceiveEventResponseSchema)
    },
  }
  return { notifier, waiting }
}

// O10
test('at most 64 events are under way; one more is not sent and has its next try at once', async () => {
  const { notifier, waiting } = openNotifier()
  const { send, budget } = createCallPublisher(notifier)
  const sent = Array.from({ length: 64 }, () => send(EVENT))
  await expect(send(EVENT)).rejects.toThrow(Unavailable)
  expect(waiting).toHaveLength(64)
  for (const { resolve } of waiting) resolve()
  await Promise.all(sent)
  const released = Array.from({ length: 70 }, () => budget.reserve(undefined))
  expect(released.filter(Boolean)).toHaveLength(64)
  expect(budget.hasRoom()).toBe(false)
  released[0]?.()
  expect(budget.hasRoom()).toBe(true)
})

test('after a call that did not arrive there is room for one event per second, until one arrives', async () => {
  const { notifier, waiting } = openNotifier()
  const { send, budget } = createCallPublisher(notifier)
  const reserved = (): number =>
    Array.from({ length: 5 }, () => budget.reserve(undefined)).filter(Boolean).length
  const failed = send(EVENT)
  waiting.pop()?.reject(new PublicError(2002))
  await expect(failed).rejects.toMatchObject({ code: 2002 })
  expect([reserved(), budget.hasRoom()]).toEqual([1, false])
  await clock.advance(999)
  expect(reserved()).toBe(0)
  await clock.advance(1)
  expect(reserved()).toBe(1)
  const received = send(EVENT)
  waiting.pop()?.resolve()
  await received
  expect(reserved()).toBe(5)
})

test('an event that the notifier refuses does not hold back others', async () => {
  const { notifier, waiting } = openNotifier()
  const { send, budget } = createCallPublisher(notifier)
  const refused = send(EVENT)
  waiting.pop()?.reject(new PublicError(9000))
  await expect(refused).rejects.toMatchObject({ code: 9000 })
  expect([budget.reserve(undefined), budget.reserve(undefined)].every(Boolean)).toBe(true)
})
