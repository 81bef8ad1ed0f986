import { create, fromBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { ReceiveEventResponseSchema } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { Payment } from '../domain/payment.ts'
import { transition } from '../domain/transition.ts'
import { newDeposit } from '../payment.fixture.ts'
import { behindFormerPrimary, openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { type NotificationRequest, notifyPayment } from './notify-payment.ts'

const DAY_MS = 86_400_000
/** A deposit whose create has ended, so that the ledger entry of a success is all that a callback may wait for. */
const sentDeposit = (changes: Partial<Payment> = {}) => newDeposit({ ...changes, effects: [] })

const payment = sentDeposit()
const CREDITED_AT = new Date(payment.created_at.getTime() + 1_000)
const request: NotificationRequest = {
  merchant_id: payment.merchant_id,
  environment: payment.environment,
  policy: { service_ids: [], currencies: [] },
  c_id: payment.c_id,
  payload_hash: 'the only payload',
}

let fixture: PaymentsFixture
let clock: InstalledClock
beforeAll(async () => {
  fixture = await openPayments()
  clock = installManualClock()
  await fixture.store.payments.insert(payment)
})
afterAll(async () => {
  clock[Symbol.dispose]()
  await fixture[Symbol.asyncDispose]()
})

/** The events that the notifier received, and the deliveries that each of them got. */
const received: unknown[] = []
let deliveryIds = ['d-1']

/** Requests a notification, while the notifier is unavailable or not. */
function notify(
  operation_id?: string,
  is_unavailable = false,
  named = request,
  payments = fixture.store.payments,
) {
  const deps = {
    ...fixture.deps(),
    payments,
    idempotency: createIdempotency(fixture.store.idempotency_records, trustedClock),
    notifier: {
      receiveEvent: async ({ event = new Uint8Array() }: { readonly event?: Uint8Array }) => {
        if (is_unavailable) throw new Error('notifier unavailable')
        received.push(fromBinary(MerchantEventSchema, event))
        return create(ReceiveEventResponseSchema, { deliveryIds })
      },
    },
  }
  return notifyPayment(deps, operation_id === undefined ? named : { ...named, operation_id })
}

const recordOf = (method: string, key: string) =>
  fixture.store.idempotency_records.get({ merchant_id: '7001', environment: 'test', method, key })
const recordOfMinute = () => {
  const minute = Math.floor(clock.now_ms() / 60_000)
  return recordOf('payment.notification:minute', `${payment.payment_id}:the only payload:${minute}`)
}

describe('the idempotency record of a notification', () => {
  test('without an operation_id expires after a day', async () => {
    const { payment: first } = await notify()
    expect((await notify()).payment).toEqual(first)
    const record = await recordOfMinute()
    expect(record?.result).toBeDefined()
    expect(record?.expires_at).toEqual(new Date(clock.now_ms() + DAY_MS))
  })

  test('without an operation_id expires after a day also when the first request failed', async () => {
    clock.stepWall(60_000)
    await expect(notify(undefined, true)).rejects.toThrow('unavailable')
    expect((await recordOfMinute())?.expires_at).toEqual(new Date(clock.now_ms() + DAY_MS))
    await notify()
    expect((await recordOfMinute())?.expires_at).toEqual(new Date(clock.now_ms() + DAY_MS))
  })

  test('with an operation_id never expires', async () => {
    await notify('once')
    const record = await recordOf('payment.notification', 'once')
    expect(record?.result).toBeDefined()
    expect(record).not.toHaveProperty('expires_at')
  })
})

// P15
test('an event without a destination is 1003, and the same request succeeds when there is one', async () => {
  deliveryIds = []
  await expect(notify('nowhere')).rejects.toMatchObject({ code: 1003 })
  deliveryIds = ['d-1']
  await notify('nowhere')
})

// P9
test.each([
  ['', 'just-paid', false],
  [', also while a former primary does not know that it must be', 'just-paid-behind', true],
])(
  'is refused for now while the ledger entry of the status is not posted%s',
  async (_when, c_id, is_behind) => {
    const { payments } = fixture.store
    const unpaid = await payments.insert(sentDeposit({ c_id }))
    const succeeded = transition(sentDeposit({ c_id }), 'success', { at: CREDITED_AT })
    const { version } = await payments.replace(succeeded, unpaid.version)
    const seen = is_behind ? behindFormerPrimary(payments, unpaid) : payments
    const named = { ...request, c_id }
    const before = received.length
    const running = createAdjustableClock()
    running.setRate(100)
    {
      using _ = { [Symbol.dispose]: useClock(running) }
      await expect(notify(c_id, false, named, seen)).rejects.toThrow(Unavailable)
    }
    expect(received).toHaveLength(before)
    await payments.replace({ ...succeeded, effects: [] }, version)
    await notify(c_id, false, named)
    expect(received.slice(before)).toMatchObject([{ event: 'payment.completed' }])
  },
)

// P9
test('waits for the ledger entry of the status, which is posted soon', async () => {
  const { payments } = fixture.store
  const succeeded = transition(sentDeposit({ c_id: 'paid-now' }), 'success', { at: CREDITED_AT })
  const { version } = await payments.insert(succeeded)
  const before = received.length
  using _ = { [Symbol.dispose]: useClock(createAdjustableClock()) }
  const notified = notify('soon', false, { ...request, c_id: 'paid-now' })
  await payments.replace({ ...succeeded, effects: [] }, version)
  await notified
  expect(received.slice(before)).toMatchObject([{ event: 'payment.completed' }])
})
