import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { barePayment, fullPayment } from '#lib/contract/public-payment/payment.fixture.ts'
import { isUuid } from '#lib/platform/ids.ts'
import { paymentEvent } from '../event.fixture.ts'
import { callbackBody, resourceIdOf } from './body.ts'

const AT = new Date('2026-11-21T10:00:03.007Z')
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function bodyOf(changes: Parameters<typeof paymentEvent>[0] = {}) {
  const event = paymentEvent({ createTime: timestampFromDate(AT), ...changes })
  return JSON.parse(Buffer.from(callbackBody(event, new Date(0))).toString())
}

/** Every name of a field at any depth. */
function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)])
}

describe('the body of a callback', () => {
  test('has the fields of the specification and no others', () => {
    expect(bodyOf()).toEqual({
      id: '100000000000000001:payment.completed',
      created_at: '2026-11-21T10:00:03.007Z',
      data: {
        next: null,
        result: { payment: expect.any(Object) },
        success: true,
        request_id: expect.any(String),
        processing_time: expect.any(Number),
      },
      merchant_id: '7001',
    })
  })

  test('shows the payment without what callbacks do not repeat', () => {
    const { payment } = bodyOf().data.result
    expect(Object.keys(payment).sort()).toEqual([
      'amount',
      'destination',
      'identifiers',
      'operations',
      'payer',
      'receiver',
      'status',
      'timestamps',
    ])
    expect(payment.receiver).toEqual({
      bank_account: { id: '123456789', name: 'Multihub' },
      phone: '+910987654321',
      document: { type: 'pan', number: 'ABCDE1234F' },
      qr_payload: 'upi://pay?pa=a@b',
    })
    const { c_id, h_id } = payment.identifiers
    expect([c_id, h_id]).toEqual(['order-1', '100000000000000001'])
  })

  test('shows nothing of how we keep it, however little or much the payment has', () => {
    for (const value of [fullPayment(), barePayment()]) {
      const body = bodyOf({ resource: { case: 'payment', value } })
      const names = namesIn(body)
      for (const absent of ['service_id', 'description', 'redirect', 'bank', 'payment_id', 'paymentId']) {
        expect(names).not.toContain(absent)
      }
      expect(names.filter((name) => !/^[a-z][a-z_0-9]*$/.test(name) && !/^\d+$/.test(name))).toEqual([])
    }
  })

  test('writes every instant alike', () => {
    const { timestamps, status, operations } = bodyOf().data.result.payment
    const instants = [
      ...Object.values(timestamps),
      ...status.history.map(({ created }: { created: string }) => created),
      ...operations.map((one: { timestamps: { created: string } }) => one.timestamps.created),
    ]
    expect(instants.length).toBeGreaterThan(5)
    for (const instant of instants) expect(instant).toMatch(INSTANT)
  })

  test('says success of a failed payment too, since the callback itself is one', () => {
    expect(bodyOf({ event: 'payment.failed' })).toMatchObject({
      id: '100000000000000001:payment.failed',
      data: { success: true },
    })
  })

  test('has an id that is stable and a request id that is not', () => {
    const [first, second] = [bodyOf(), bodyOf()]
    expect(first.id).toBe(second.id)
    expect(isUuid(first.data.request_id)).toBe(true)
    expect(first.data.request_id).not.toBe(second.data.request_id)
  })
})

test('an event about something that this version does not know is refused', () => {
  const unknown = create(MerchantEventSchema, { eventKey: 'key', event: 'ticket.created' })
  expect(() => callbackBody(unknown, AT)).toThrow(TypeError)
  expect(resourceIdOf(unknown)).toBe('')
})
