import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { barePayment, fullPayment } from '#lib/contract/payment.fixture.ts'
import { paymentEvent } from '../event.fixture.ts'
import { callbackBody, toPublicResource } from './callback-body.ts'
import { resourceIdOf } from './event.ts'

const AT = new Date('2026-11-21T10:00:03.007Z')
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const METADATA = { created_at: new Date(0), request_id: 'request-1', processing_time: 0.5 }

function bodyOf(changes: Parameters<typeof paymentEvent>[0] = {}) {
  const event = paymentEvent({ createTime: timestampFromDate(AT), ...changes })
  return JSON.parse(Buffer.from(callbackBody(event, toPublicResource(event), METADATA)).toString())
}

/** The names of all fields at any depth. */
function fieldNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...fieldNames(inner)])
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
        request_id: 'request-1',
        processing_time: 0.5,
      },
      merchant_id: '7001',
    })
  })

  test('has the given creation time when the event has none', () => {
    expect(bodyOf({ createTime: undefined }).created_at).toBe('1970-01-01T00:00:00.000Z')
  })

  test('shows the payment without the fields that callbacks omit', () => {
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

  test('shows no internal field, whichever optional fields the payment has', () => {
    for (const value of [fullPayment(), barePayment()]) {
      const body = bodyOf({ resource: { case: 'payment', value } })
      const names = fieldNames(body)
      for (const absent of ['service_id', 'description', 'redirect', 'bank', 'payment_id', 'paymentId']) {
        expect(names).not.toContain(absent)
      }
      expect(names.filter((name) => !/^[a-z][a-z_0-9]*$/.test(name) && !/^\d+$/.test(name))).toEqual([])
    }
  })

  // E15
  test('writes every instant in one format', () => {
    const { timestamps, status, operations } = bodyOf().data.result.payment
    const instants = [
      ...Object.values(timestamps),
      ...status.history.map(({ created }: { created: string }) => created),
      ...operations.map((one: { timestamps: { created: string } }) => one.timestamps.created),
    ]
    expect(instants.length).toBeGreaterThan(5)
    for (const instant of instants) expect(instant).toMatch(INSTANT)
  })

  test('has success true for a failed payment too, because it describes the callback itself', () => {
    expect(bodyOf({ event: 'payment.failed' })).toMatchObject({
      id: '100000000000000001:payment.failed',
      data: { success: true },
    })
  })
})

test('an event about an unknown kind of resource is refused', () => {
  const unknown = create(MerchantEventSchema, { eventKey: 'key', event: 'ticket.created' })
  expect(() => toPublicResource(unknown)).toThrow(TypeError)
  expect(resourceIdOf(unknown)).toBe('')
})
