import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { sleep } from '#lib/base/time.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { INSTRUCTION_FIELDS, PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import type { Capabilities, ProviderOrder } from '../../services/payments/connectors/connector.ts'
import { provenBy } from '../../services/payments/connectors/create-result.fixture.ts'
import type { CallResult, LookupResult, OperationKind } from '../../services/payments/domain/call-result.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import type { ReadConnector } from './connector.suite.ts'
import { type OrderChoice, orderOf } from './connector-orders.ts'

/** What a connector must make of the responses of a provider that works, and what it must send to it. */
export function outcomeSuite(
  { operations, methods, idempotency_window_ms }: Capabilities,
  read: ReadConnector,
): void {
  const payments = operations.filter((kind) => kind !== 'refund')

  const create = (order: ProviderOrder): Promise<CallResult> =>
    provenBy(read().connector.create(order, HANG_LIMIT_MS))
  const lookUp = (order: ProviderOrder): Promise<LookupResult> =>
    read().connector.lookUp(order, HANG_LIMIT_MS)

  /** Polls as payments does, until the provider has decided. */
  async function decided(order: ProviderOrder): Promise<LookupResult> {
    for (;;) {
      const result = await lookUp(order)
      if (result.kind !== 'pending') return result
      await sleep(5)
    }
  }

  async function paidDeposit(choice: Partial<OrderChoice> = {}): Promise<ProviderOrder> {
    const deposit = orderOf('deposit', { minor: 5_000_908n, ...choice })
    await create(deposit)
    expect(await decided(deposit)).toMatchObject({ kind: 'success' })
    return deposit
  }

  /** An order of any kind that the provider performs; a refund belongs to a deposit with the same digits. */
  async function order(kind: OperationKind, digits: number): Promise<ProviderOrder> {
    const minor = 5_000_000n + BigInt(digits)
    return kind === 'refund'
      ? orderOf('refund', { minor, deposit: await paidDeposit({ minor: 5_000_000n + BigInt(digits) }) })
      : orderOf(kind, { minor })
  }

  const successOf = ({ kind, amount }: ProviderOrder): object => ({
    kind: 'success',
    provider_id: expect.any(String),
    amount,
    completed_at: expect.any(Date),
    ...(kind === 'withdrawal' ? { utr: expect.any(String) } : {}),
  })

  describe.each(payments)('a %s', (kind) => {
    test('that succeeds at once is a success of the whole amount, also when it is looked up', async () => {
      const success = await order(kind, 908)
      expect(await create(success)).toEqual(successOf(success))
      expect(await lookUp(success)).toEqual(successOf(success))
    })

    test('that succeeds later is pending first', async () => {
      const later = await order(kind, 0)
      const pending = { kind: 'pending', provider_id: expect.any(String), amount: later.amount }
      expect(await create(later)).toMatchObject(pending)
      expect(await decided(later)).toEqual(successOf(later))
    })

    test.each([901, 902])('that the provider declines is declined (%d)', async (digits) => {
      const declined = await order(kind, digits)
      expect(['declined', 'pending']).toContain((await create(declined)).kind)
      const { amount } = declined
      expect(await decided(declined)).toMatchObject({ kind: 'declined', code: 6044, amount })
    })

    test('that the provider does not accept is declined under any HTTP status', async () => {
      expect(await create(await order(kind, 907))).toEqual({ kind: 'declined', code: 7001 })
    })

    test('that is canceled has the code of who cancels it', async () => {
      const canceled = await order(kind, 906)
      await create(canceled)
      expect(await decided(canceled)).toMatchObject({
        kind: 'canceled',
        code: kind === 'deposit' ? 6012 : 6034,
        amount: canceled.amount,
      })
    })

    test('whose status the protocol does not define, or that stays open, is pending', async () => {
      const open = await order(kind, 905)
      expect(await create(open)).toMatchObject({ kind: 'pending' })
      expect(await lookUp(open)).toMatchObject({ kind: 'pending' })
    })

    // P4
    test.each([903, 904, 913, 915])(
      'whose create is not answered properly is unknown, and found by a lookup (%d)',
      async (digits) => {
        const lost = await order(kind, digits)
        expect(await create(lost)).toMatchObject({ kind: 'unknown', is_provider_failure: true })
        expect(await decided(lost)).toEqual(successOf(lost))
      },
    )

    test('that was never created is not found', async () => {
      expect(await lookUp(orderOf(kind, { minor: 100n }))).toEqual({ kind: 'not_found' })
    })

    test('is not one of another kind', async () => {
      const created = await order(kind, 908)
      await create(created)
      const other: OperationKind = kind === 'deposit' ? 'withdrawal' : 'deposit'
      const { idempotency_key } = created
      const result = await read().connector.lookUp({ kind: other, idempotency_key }, HANG_LIMIT_MS)
      expect(result).toMatchObject({ kind: 'unknown' })
    })
  })

  test('many lookups at once, of known and unknown operations, get their own results', async () => {
    const known = await Promise.all(Array.from({ length: 15 }, () => order('deposit', 908)))
    await Promise.all(known.map(create))
    const unknown = Array.from({ length: 15 }, () => orderOf('deposit', { minor: 1n }))
    const mixed = known.flatMap((one, index) => [one, unknown[index] ?? one])
    const results = await Promise.all(mixed.map(lookUp))
    expect(results).toEqual(known.flatMap((one) => [successOf(one), { kind: 'not_found' }]))
    const ids = results.flatMap((result) => ('provider_id' in result ? [result.provider_id] : []))
    expect(new Set(ids).size).toBe(15)
  })

  describe('a repeated key', () => {
    test.each(payments)(
      'of a %s is one operation, or is never sent when the provider knows no keys',
      async (kind) => {
        const repeated = await order(kind, 908)
        if (idempotency_window_ms === 0) {
          expect(await create({ ...repeated, earlier_result_unknown: true })).toMatchObject({
            kind: 'unknown',
          })
          expect(await lookUp(repeated)).toEqual({ kind: 'not_found' })
          return
        }
        const results = await Promise.all(Array.from({ length: 20 }, () => create(repeated)))
        const ids = results.map((result) => ('provider_id' in result ? result.provider_id : result.kind))
        expect(new Set(ids).size).toBe(1)
        expect(await lookUp(repeated)).toEqual(successOf(repeated))
      },
    )

    test.each(payments)('of a %s after a create with an unknown result is never declined', async (kind) => {
      const refused = await order(kind, 907)
      expect(await create({ ...refused, earlier_result_unknown: true })).toMatchObject({ kind: 'unknown' })
    })
  })

  describe('an amount', () => {
    const currencies = ['INR', 'MXN', 'ARS', 'TRY', 'AUD', 'LKR', 'JPY', 'KWD']

    test.each(payments)(
      'of a %s from 1 to 2^53-1 arrives exactly, with no, two and three decimal places',
      async (kind) => {
        const edges = [1n, 9n, 10n, 99n, 100n, 101n, 1_000n, 2n ** 31n, AMOUNT_MAX - 1n, AMOUNT_MAX]
        const amount = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: 1n, max: AMOUNT_MAX }))
        await fc.assert(
          fc.asyncProperty(amount, fc.constantFrom(...currencies), async (minor, currency) => {
            // The digits of scenarios have other results.
            fc.pre(minor % 1_000n < 900n || minor % 1_000n > 915n)
            const exact = orderOf(kind, { minor, currency, method: 'bank_transfer' })
            expect(await create(exact)).toMatchObject({ kind: 'pending' })
            expect(await decided(exact)).toEqual(successOf(exact))
          }),
          { numRuns: 40, examples: edges.map((minor, index) => [minor, currencies[index % 8] ?? 'INR']) },
        )
      },
    )

    // P4
    test.each([0n, -1n, AMOUNT_MAX + 1n])('of %d is not sent', async (minor) => {
      const impossible = orderOf('deposit', { minor })
      expect(await create(impossible)).toEqual({ kind: 'not_sent', reason: expect.any(String) })
      expect(await create({ ...impossible, earlier_result_unknown: true })).toMatchObject({ kind: 'unknown' })
      expect(await lookUp(impossible)).toEqual({ kind: 'not_found' })
    })
  })

  // P13
  describe.each(payments)('each method of a %s', (kind) => {
    const direction = kind === 'deposit' ? 'in' : 'out'
    const pairs = Object.entries(PAYMENT_METHODS[direction])
      .filter(([method]) => methods.includes(method))
      .flatMap(([method, codes]) => codes.map((currency): [string, string] => [method, currency]))
    test.each(pairs)('%s in %s', async (method, currency) => {
      const open = orderOf(kind, { minor: 100_905n, currency, method })
      const created = await create(open)
      expect(created).toMatchObject({ kind: 'pending' })
      if (kind === 'withdrawal' || !('instructions' in created)) return
      const fields = INSTRUCTION_FIELDS[method] ?? []
      expect(Object.keys(created.instructions ?? {}).sort()).toEqual([...fields].sort())
      expect(await lookUp(open)).toEqual(created)
    })
  })

  if (!operations.includes('refund')) return
  describe('a refund', () => {
    test('of a part of a deposit, and of the rest, succeeds with its own amount', async () => {
      const deposit = await paidDeposit()
      for (const minor of [1n, 5_000_907n]) {
        const refund = orderOf('refund', { minor, deposit })
        await create(refund)
        expect(await decided(refund)).toEqual(successOf(refund))
      }
    })

    test('that was never created is not found', async () => {
      expect(await lookUp(orderOf('refund', { minor: 1n }))).toEqual({ kind: 'not_found' })
    })
  })
}
