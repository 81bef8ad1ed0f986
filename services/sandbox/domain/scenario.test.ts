import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { clock, sleep } from '#lib/base/time.ts'
import { PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import type { Connector, ProviderOrder } from '../../payments/connectors/connector.ts'
import { provenBy } from '../../payments/connectors/create-result.fixture.ts'
import type { LookupResult, OperationKind } from '../../payments/domain/call-result.ts'
import { type CallbackReceiver, startReceiver } from '../callback-receiver.fixture.ts'
import { connectSandbox, startSandbox, type TestSandbox } from '../sandbox.fixture.ts'

const http = createHttpClient({ allow: allowAnyAddress })
let directory: string
let sandbox: TestSandbox
let connector: Connector
let receiver: CallbackReceiver
let orders_made = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  // The sandbox ends its silence itself, so that no create depends on a time limit.
  sandbox = await startSandbox(directory, { MULTIHUB_SANDBOX_SILENCE: '20ms' })
  connector = connectSandbox(sandbox, http)
  receiver = await startReceiver(connector)
})

afterAll(async () => {
  await receiver.close()
  await sandbox.stop()
  await http.close()
  await rm(directory, { recursive: true })
})

/** An order with a new key, whose amount ends in these digits. */
function orderOf(kind: 'deposit' | 'withdrawal', digits: number): ProviderOrder {
  orders_made += 1
  const common = {
    idempotency_key: `${kind}:${digits}:${orders_made}`,
    amount: { minor: 5_000_000n + BigInt(digits), currency: 'INR' },
    callback_url: receiver.url,
  }
  return kind === 'deposit'
    ? { ...common, kind, method: 'upi', expires_at: new Date(clock.now_ms() + 3_600_000), payer: {} }
    : { ...common, kind, method: 'imps', beneficiary: { account_id: '123456789', ifsc: 'SBIN0000001' } }
}

function refundOf(deposit: ProviderOrder, minor = 1000n): ProviderOrder {
  orders_made += 1
  return {
    kind: 'refund',
    idempotency_key: `refund:${orders_made}`,
    amount: { minor, currency: deposit.amount.currency },
    method: deposit.method,
    callback_url: receiver.url,
    deposit_idempotency_key: deposit.idempotency_key,
  }
}

function create(order: ProviderOrder) {
  return provenBy(connector.create(order, HANG_LIMIT_MS))
}

function lookUp(order: ProviderOrder): Promise<LookupResult> {
  return connector.lookUp(order, HANG_LIMIT_MS)
}

/** Polls as payments does, until the operation is final. */
async function finalOutcome(order: ProviderOrder): Promise<LookupResult> {
  for (;;) {
    const outcome = await lookUp(order)
    if (outcome.kind !== 'pending') return outcome
    await sleep(5)
  }
}

function reportsOf(order: ProviderOrder) {
  return receiver.reports.filter(({ idempotency_key }) => idempotency_key === order.idempotency_key)
}

/** Waits until all callbacks of earlier operations have been sent: then the callback of a new operation arrives. */
async function waitForEarlierCallbacks(): Promise<void> {
  const later = orderOf('deposit', 0)
  await create(later)
  await receiver.received(later.idempotency_key, 1)
}

async function createPaid(digits: number): Promise<ProviderOrder> {
  const deposit = orderOf('deposit', digits)
  await create(deposit)
  expect(await finalOutcome(deposit)).toMatchObject({ kind: 'success' })
  return deposit
}

const success = (order: ProviderOrder) => ({
  kind: 'success',
  amount: order.amount,
  completed_at: expect.any(Date),
  provider_id: expect.any(String),
  ...(order.kind === 'withdrawal' ? { utr: expect.stringMatching(/^[0-9]{12}$/) } : {}),
})

describe.each(['deposit', 'withdrawal'] as const)('%s', (kind) => {
  test.each([0, 1, 123, 900, 911, 912, 914, 916, 999])(
    '%i: pending, then success, reported in one callback',
    async (digits) => {
      const order = orderOf(kind, digits)
      expect(await create(order)).toMatchObject({ kind: 'pending' })
      const [report] = await receiver.received(order.idempotency_key, 1)
      expect(report).toEqual({ kind, idempotency_key: order.idempotency_key, result: success(order) })
      expect(await lookUp(order)).toEqual(report?.result)
      await waitForEarlierCallbacks()
      expect(reportsOf(order)).toHaveLength(1)
    },
  )

  test('901: declined in the response, no callback', async () => {
    const order = orderOf(kind, 901)
    const { amount } = order
    const declined = { kind: 'declined', code: 6044, provider_id: expect.any(String), amount }
    expect(await create(order)).toEqual(declined)
    expect(await lookUp(order)).toEqual(declined)
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(0)
  })

  test.each([4000, 5002, 6004, 6044, 7003, 8601])(
    '66%i: declined in the response with this code',
    async (code) => {
      const order = orderOf(kind, 660_000 + code)
      expect(await create(order)).toMatchObject({ kind: 'declined', code })
      expect(await lookUp(order)).toMatchObject({ kind: 'declined', code })
      await waitForEarlierCallbacks()
      expect(reportsOf(order)).toHaveLength(0)
    },
  )

  test.each([663_009, 664_999, 669_000, 567_003])(
    '%i: no code of the families 4xxx to 8xxx',
    async (digits) => {
      expect(await create(orderOf(kind, digits))).toMatchObject({ kind: 'pending' })
    },
  )

  test('902: pending, then declined by callback', async () => {
    const order = orderOf(kind, 902)
    expect(await create(order)).toMatchObject({ kind: 'pending' })
    const [report] = await receiver.received(order.idempotency_key, 1)
    expect(report?.result).toMatchObject({ kind: 'declined', code: 6044 })
  })

  test.each([
    [903, 'no response'],
    [904, 'connection reset'],
    [913, 'HTTP 500 without a protocol body'],
    [915, 'body not of the protocol'],
  ])('%i: unknown (%s); a poll finds the success, no callback', async (digits) => {
    const order = orderOf(kind, digits)
    expect(await create(order)).toMatchObject({ kind: 'unknown' })
    expect(await finalOutcome(order)).toEqual(success(order))
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(0)
  })

  test('905: stays pending', async () => {
    const order = orderOf(kind, 905)
    expect(await create(order)).toMatchObject({ kind: 'pending' })
    await waitForEarlierCallbacks()
    expect(await lookUp(order)).toMatchObject({ kind: 'pending' })
    expect(reportsOf(order)).toHaveLength(0)
  })

  test('906: canceled by callback', async () => {
    const order = orderOf(kind, 906)
    expect(await create(order)).toMatchObject({ kind: 'pending' })
    const [report] = await receiver.received(order.idempotency_key, 1)
    expect(report?.result).toMatchObject({ kind: 'canceled', code: kind === 'deposit' ? 6012 : 6034 })
  })

  test('907: refused under HTTP 500, and every later create and lookup gets the same refusal', async () => {
    const order = orderOf(kind, 907)
    expect(await create(order)).toEqual({ kind: 'declined', code: 7001 })
    expect(await create(order)).toEqual({ kind: 'declined', code: 7001 })
    expect(await lookUp(order)).toMatchObject({ kind: 'declined', code: 7001 })
  })

  test('907: the refusal is unknown when an earlier create may have arrived', async () => {
    const order = orderOf(kind, 907)
    expect(await create(order)).toEqual({ kind: 'declined', code: 7001 })
    expect(await create({ ...order, earlier_result_unknown: true })).toMatchObject({ kind: 'unknown' })
    expect(await lookUp(order)).toMatchObject({ kind: 'declined', code: 7001 })
  })

  test('908: success in the response', async () => {
    const order = orderOf(kind, 908)
    expect(await create(order)).toEqual(success(order))
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(0)
  })

  test('909: three callbacks out of order, one with another amount', async () => {
    const order = orderOf(kind, 909)
    expect(await create(order)).toMatchObject({ kind: 'pending' })
    const results = (await receiver.received(order.idempotency_key, 3)).map(({ result }) => result)
    const other = { minor: order.amount.minor + 1n, currency: 'INR' }
    expect(results).toEqual([
      { ...success(order), amount: other },
      success(order),
      { kind: 'pending', provider_id: expect.any(String), amount: order.amount },
    ])
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(3)
    expect(await lookUp(order)).toEqual(success(order))
  })

  test('910: success without a callback', async () => {
    const order = orderOf(kind, 910)
    expect(await create(order)).toMatchObject({ kind: 'pending' })
    expect(await finalOutcome(order)).toEqual(success(order))
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(0)
  })
})

describe("the deposit's digits choose the refund's result", () => {
  test('other digits: success at once, whatever the digits of the refund', async () => {
    const refund = refundOf(await createPaid(0), 911n)
    expect(await create(refund)).toEqual(success(refund))
    expect(await lookUp(refund)).toEqual(success(refund))
  })

  test('911: the refund fails', async () => {
    const refund = refundOf(await createPaid(911))
    expect(await create(refund)).toMatchObject({ kind: 'declined', code: 6044 })
  })

  test('912: pending, then success by callback', async () => {
    const refund = refundOf(await createPaid(912))
    expect(await create(refund)).toMatchObject({ kind: 'pending' })
    const [report] = await receiver.received(refund.idempotency_key, 1)
    expect(report).toMatchObject({ kind: 'refund', result: success(refund) })
  })

  test('914: the response is lost; a poll finds the success, no callback', async () => {
    const refund = refundOf(await createPaid(914))
    expect(await create(refund)).toMatchObject({ kind: 'unknown' })
    expect(await finalOutcome(refund)).toEqual(success(refund))
    await waitForEarlierCallbacks()
    expect(reportsOf(refund)).toHaveLength(0)
  })

  test('an invalid refund is refused permanently', async () => {
    const unpaid = orderOf('deposit', 905)
    await create(unpaid)
    const deposit = await createPaid(0)
    const missing = { ...deposit, idempotency_key: 'never-created' }
    const other_currency = { ...deposit, amount: { minor: 1n, currency: 'TRY' } }
    for (const [refund, code] of [
      [refundOf(unpaid), 8801],
      [refundOf(missing), 6010],
      [refundOf(other_currency), 6002],
      [refundOf(deposit, deposit.amount.minor + 1n), 6001],
    ] as const) {
      expect(await create(refund)).toEqual({ kind: 'declined', code })
      expect(await lookUp(refund)).toMatchObject({ kind: 'declined', code })
    }
  })
})

describe('idempotency keys', () => {
  test('a hundred concurrent creates with one key make one operation', async () => {
    const order = orderOf('withdrawal', 0)
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => create(order)))
    const ids = new Set(
      outcomes.map((outcome) => ('provider_id' in outcome ? outcome.provider_id : outcome.kind)),
    )
    expect(ids.size).toBe(1)
    await receiver.received(order.idempotency_key, 1)
    await waitForEarlierCallbacks()
    expect(reportsOf(order)).toHaveLength(1)
  })

  test('a key of an operation with other content leaves the outcome unknown', async () => {
    const order = orderOf('deposit', 0)
    await create(order)
    const more = { ...order, amount: { ...order.amount, minor: order.amount.minor + 1n } }
    expect(await create(more)).toMatchObject({ kind: 'unknown' })
    expect(
      await create({ ...orderOf('withdrawal', 0), idempotency_key: order.idempotency_key }),
    ).toMatchObject({
      kind: 'unknown',
    })
    expect(await connector.lookUp({ ...order, kind: 'withdrawal' }, HANG_LIMIT_MS)).toMatchObject({
      kind: 'unknown',
    })
  })

  test('a key without an operation is not found', async () => {
    expect(await lookUp(orderOf('deposit', 0))).toEqual({ kind: 'not_found' })
  })
})

test('a deposit that would be paid after its expires_at stays pending', async () => {
  const order = { ...orderOf('deposit', 0), expires_at: new Date(clock.now_ms()) } as ProviderOrder
  expect(await create(order)).toMatchObject({ kind: 'pending' })
  await waitForEarlierCallbacks()
  expect(await lookUp(order)).toMatchObject({ kind: 'pending' })
})

const pairs = Object.entries(PAYMENT_METHODS.in).flatMap(([method, currencies]) =>
  currencies.map((currency): [string, string] => [method, currency]),
)

test.each(pairs)('instructions of %s in %s', async (method, currency) => {
  const order = { ...orderOf('deposit', 905), method, amount: { minor: 100_905n, currency } } as ProviderOrder
  const outcome = await create(order)
  const instructions = 'instructions' in outcome ? outcome.instructions : undefined
  const bank = {
    bank_account: { id: expect.any(String), name: 'Sandbox Receiver' },
    bank: { name: 'Sandbox Bank', code: expect.any(String) },
    phone: expect.stringMatching(/^\+/),
    document: { type: expect.any(String), number: expect.any(String) },
  }
  const payment_url = expect.stringContaining(sandbox.url)
  const expected: Record<string, unknown> = {
    upi: {
      deep_links: expect.arrayContaining([expect.stringMatching(/^upi:\/\/pay\?.*&am=1009\.05&/)]),
      qr_payload: expect.stringMatching(/^upi:/),
    },
    imps: bank,
    havale: bank,
    bank_transfer: { ...bank, payment_url },
    papara: { payment_url },
    kredikarti: { payment_url },
  }
  expect(instructions).toEqual(expected[method])
  expect(await lookUp(order)).toMatchObject({ kind: 'pending', instructions: expected[method] })
})

test('a lookup of an operation of another kind leaves the outcome unknown', async () => {
  const order = orderOf('deposit', 908)
  await create(order)
  const kinds: OperationKind[] = ['withdrawal', 'refund']
  for (const kind of kinds) {
    const outcome = await connector.lookUp({ ...order, kind }, HANG_LIMIT_MS)
    expect(outcome.kind).toBe('unknown')
  }
})
