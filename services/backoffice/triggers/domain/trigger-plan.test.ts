import { create } from '@bufbuild/protobuf'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction, RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { chooseRoute } from './choose-route.ts'
import { amountFor, type Outcome, outcomeOf } from './test-amount.ts'
import { planOf, statusesOf, TRIGGERED_EVENTS } from './trigger-plan.ts'

const OUTCOMES: readonly Outcome[] = ['any', 'paid', 'paid_refund_fails', 'fails', 'expires', 'canceled']

describe('the steps', () => {
  // O20
  test('lead to every event of the contract, in each status that it tells of', () => {
    for (const event of TRIGGERED_EVENTS)
      for (const status of ['', ...statusesOf(event)]) expect(planOf(event, status).length).toBeGreaterThan(0)
  })

  test('an unknown event or status is refused with the field', () => {
    for (const [event, status, field] of [
      ['payment.lost', '', 'event'],
      ['toString', '', 'event'],
      ['payment.completed', 'refunded', 'status'],
      ['payment.completed', 'toString', 'status'],
    ] as const)
      expect(() => planOf(event, status)).toThrow(
        expect.objectContaining({ code: 9000, details: expect.objectContaining({ description: field }) }),
      )
  })
})

describe('the amount', () => {
  test('leads to the outcome, and changes in its last three digits only where it would not', () => {
    const amounts = fc.bigInt({ min: 1n, max: AMOUNT_MAX - 1_000n })
    fc.assert(
      fc.property(fc.constantFrom(...OUTCOMES), amounts, (outcome, minor) => {
        const amount = amountFor(outcome, minor)
        expect(amount / 1000n).toBe(minor / 1000n)
        if (outcome === 'any') expect(amount).toBe(minor)
        else expect(outcomeOf(amount)).toBe(outcome)
        if (outcome === outcomeOf(minor)) expect(amount).toBe(minor)
      }),
    )
  })

  test.each([
    [12_300n, 'paid'],
    [667_003n, 'fails'],
    [12_902n, 'fails'],
    [905n, 'expires'],
  ] as const)('%d is %s', (minor, outcome) => expect(outcomeOf(minor)).toBe(outcome))
})

describe('the route', () => {
  const route = (serviceId: string, more: object = {}) =>
    create(RouteSchema, {
      serviceId,
      environment: Environment.TEST,
      direction: Direction.IN,
      currency: 'INR',
      enabled: true,
      expiresInSeconds: 1_800,
      ...more,
    })
  const routes = [
    route('501', { purpose: 'provider_down' }),
    route('502', { purpose: 'normal' }),
    route('503', { purpose: 'short_expiry', expiresInSeconds: 5 }),
    route('504', { currency: 'TRY', enabled: false }),
    route('505', { currency: 'MXN', environment: Environment.PRODUCTION }),
    route('506', { currency: 'ARS', direction: Direction.OUT }),
  ]
  const any = { currency: '', service_id: '0', expires: false }
  const free = { serviceIds: [], currencies: [] }

  test('is the normal one, the one that is asked for, or the one with the shortest time', () => {
    expect(chooseRoute(routes, free, any).serviceId).toBe('502')
    expect(chooseRoute(routes, free, { ...any, service_id: '501' }).serviceId).toBe('501')
    expect(chooseRoute(routes, free, { ...any, expires: true }).serviceId).toBe('503')
    expect(chooseRoute(routes, { ...free, serviceIds: ['501', '503'] }, any).serviceId).toBe('501')
  })

  test.each([
    ['TRY', free, 'the merchant has no enabled route for deposits in TRY in the test environment'],
    ['MXN', free, 'the merchant has no route for deposits in MXN in the test environment'],
    ['ARS', free, 'the merchant has no route for deposits in ARS in the test environment'],
    [
      'INR',
      { ...free, currencies: ['TRY'] },
      'the application may use no enabled route for deposits in INR in the test environment: see its service_ids and currencies',
    ],
  ])('without one in %s the refusal says what is missing', (currency, bounds, reason) => {
    expect(() => chooseRoute(routes, bounds, { ...any, currency })).toThrow(
      expect.objectContaining({ code: 1003, details: { reason } }),
    )
  })
})
