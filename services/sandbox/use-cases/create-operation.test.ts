import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import type { Connector, ProviderOrder } from '../../payments/connectors/connector.ts'
import { provenBy } from '../../payments/connectors/create-result.fixture.ts'
import { connectSandbox, startSandbox, type TestSandbox } from '../sandbox.fixture.ts'

const http = createHttpClient({ allow: allowAnyAddress })
const DAY_MS = 86_400_000
/** The default of `MULTIHUB_TEST_RETENTION`. */
const RETENTION_DAYS = 90
const adjustable = createAdjustableClock()
let restoreClock: () => void
let directory: string
let sandbox: TestSandbox
let connector: Connector
let orders_made = 0

beforeAll(async () => {
  // The walk that deletes comes once a minute: here it comes at once.
  const after: typeof adjustable.after = (delay_ms, action) =>
    adjustable.after(delay_ms === 60_000 ? 50 : delay_ms, action)
  restoreClock = useClock({ ...adjustable, after })
  directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  sandbox = await startSandbox(directory)
  connector = connectSandbox(sandbox, http)
})
afterAll(async () => {
  await sandbox.stop()
  await http.close()
  await rm(directory, { recursive: true })
  restoreClock()
})

const create = (order: ProviderOrder) => provenBy(connector.create(order, HANG_LIMIT_MS))

/** A deposit of 1,009.08, which is paid in the response to its create. */
async function createPaid(): Promise<ProviderOrder> {
  orders_made += 1
  const deposit: ProviderOrder = {
    kind: 'deposit',
    idempotency_key: `deposit-${orders_made}`,
    amount: { minor: 100_908n, currency: 'INR' },
    method: 'upi',
    callback_url: 'http://127.0.0.1:9/',
    expires_at: new Date(adjustable.now_ms() + 3_600_000),
    payer: {},
  }
  await create(deposit)
  return deposit
}

function refundOf(deposit: ProviderOrder, minor: bigint): ProviderOrder {
  orders_made += 1
  return {
    kind: 'refund',
    idempotency_key: `refund-${orders_made}`,
    amount: { minor, currency: 'INR' },
    method: 'upi',
    callback_url: 'http://127.0.0.1:9/',
    deposit_idempotency_key: deposit.idempotency_key,
  }
}

describe('the refunds of a deposit', () => {
  const refused = { kind: 'declined', code: 6001 }

  test('together do not exceed it', async () => {
    const deposit = await createPaid()
    const first = refundOf(deposit, 60_000n)
    const too_much = refundOf(deposit, 40_909n)
    expect(await create(first)).toMatchObject({ kind: 'success' })
    expect(await create(too_much)).toEqual(refused)
    expect(await create(first)).toMatchObject({ kind: 'success' })
    expect(await create(refundOf(deposit, 40_908n))).toMatchObject({ kind: 'success' })
    expect(await create(refundOf(deposit, 1n))).toEqual(refused)
    expect(await create(too_much)).toEqual(refused)
  })

  test('do not exceed it when they come at the same time', async () => {
    const deposit = await createPaid()
    const refunds = Array.from({ length: 12 }, () => refundOf(deposit, 30_000n))
    const results = await Promise.all(refunds.map(create))
    expect(results.filter(({ kind }) => kind === 'success')).toHaveLength(3)
    expect(results.filter(({ kind }) => kind === 'declined')).toHaveLength(9)
  })

  test('count once when one request comes several times at once', async () => {
    const deposit = await createPaid()
    const refund = refundOf(deposit, 60_000n)
    const results = await Promise.all(Array.from({ length: 10 }, () => create(refund)))
    expect(results.filter(({ kind }) => kind === 'success')).toHaveLength(10)
    expect(await create(refundOf(deposit, 40_908n))).toMatchObject({ kind: 'success' })
  })
})

// O25
test('an operation and its key outlive the payment by a retention and a month, and then end', async () => {
  const lookUp = ({ idempotency_key }: ProviderOrder) =>
    connector.lookUp({ kind: 'deposit', idempotency_key }, HANG_LIMIT_MS)
  const isGone = (order: ProviderOrder) =>
    eventually(
      () => lookUp(order),
      (found) => found?.kind === 'not_found',
    )
  const earlier = await createPaid()
  adjustable.stepWall(2 * DAY_MS)
  const deposit = await createPaid()
  const created = await create(deposit)
  expect(created).toMatchObject({ kind: 'success', provider_id: expect.any(String) })
  adjustable.stepWall((2 * RETENTION_DAYS + 30) * DAY_MS)
  const later = await createPaid()
  // The walk that ends the one before it has come past it.
  await isGone(earlier)
  expect(await create(deposit)).toEqual(created)
  adjustable.stepWall(2 * DAY_MS)
  await isGone(deposit)
  expect(await lookUp(later)).toMatchObject({ kind: 'success' })
})
