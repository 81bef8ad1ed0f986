import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { allowAnyAddress } from '#lib/platform/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/platform/http/client.ts'
import { clock, useClock } from '#lib/platform/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import type { ProviderOrder } from '../payments/connectors/connector.ts'
import { type CallbackReceiver, startReceiver } from './callback-receiver.fixture.ts'
import { connectSandbox, startSandbox } from './sandbox.fixture.ts'

let directory: string
let http: HttpClient
let receiver: CallbackReceiver

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  http = createHttpClient({ allow: allowAnyAddress })
  receiver = await startReceiver(connectSandbox({ url: 'http://unused' }, http))
})

afterEach(async () => {
  await receiver.close()
  await http.close()
  await rm(directory, { recursive: true })
})

function orderOf(number: number, digits = 0): ProviderOrder {
  return {
    kind: 'deposit',
    idempotency_key: `deposit-${number}`,
    amount: { minor: 1_000_000n + BigInt(digits), currency: 'INR' },
    method: 'upi',
    callback_url: receiver.url,
    expires_at: new Date(clock.now_ms() + 3_600_000),
    payer: {},
  }
}

test('after a restart only an unacknowledged callback is sent again', async () => {
  const sandbox = await startSandbox(directory)
  await connectSandbox(sandbox, http).create(orderOf(1), HANG_LIMIT_MS)
  await receiver.received('deposit-1', 1)
  receiver.respondWith(500)
  await connectSandbox(sandbox, http).create(orderOf(2), HANG_LIMIT_MS)
  await receiver.received('deposit-2', 1)
  await sandbox.stop()

  receiver.respondWith(204)
  const again = await startSandbox(directory)
  await receiver.received('deposit-2', 2)
  await connectSandbox(again, http).create(orderOf(3), HANG_LIMIT_MS)
  await receiver.received('deposit-3', 1)
  expect(receiver.reports.filter(({ idempotency_key }) => idempotency_key === 'deposit-1')).toHaveLength(1)
  await again.stop()
})

test('an operation completes while the sandbox is stopped, and its callback is sent after the restart', async () => {
  const adjustable = createAdjustableClock()
  const restore = useClock(adjustable)
  try {
    const sandbox = await startSandbox(directory, { MULTIHUB_SANDBOX_DELAY: '30m' })
    const created = await connectSandbox(sandbox, http).create(orderOf(1), HANG_LIMIT_MS)
    await sandbox.stop()
    expect(created.kind).toBe('pending')
    expect(receiver.reports).toEqual([])

    adjustable.stepWall(31 * 60_000)
    const again = await startSandbox(directory)
    const [report] = await receiver.received('deposit-1', 1)
    expect(report?.result).toMatchObject({ kind: 'success', amount: { minor: 1_000_000n, currency: 'INR' } })
    await again.stop()
  } finally {
    restore()
  }
})

test('stopping the sandbox closes a connection that an amount ending in 903 keeps open', async () => {
  const sandbox = await startSandbox(directory)
  const outcome = connectSandbox(sandbox, http).create(orderOf(1, 903), HANG_LIMIT_MS)
  const isCreated = async (): Promise<boolean> => {
    const found = await connectSandbox(sandbox, http).lookUp(orderOf(1), HANG_LIMIT_MS)
    return found.kind !== 'not_found'
  }
  while (!(await isCreated()));
  await sandbox.stop()
  expect(await outcome).toMatchObject({ kind: 'unknown' })
})

test('an amount that ends in 903 keeps a connection open for the configured time', async () => {
  const sandbox = await startSandbox(directory, { MULTIHUB_SANDBOX_SILENCE: '20ms' })
  expect(await connectSandbox(sandbox, http).create(orderOf(1, 903), HANG_LIMIT_MS)).toMatchObject({
    kind: 'unknown',
  })
  await sandbox.stop()
})
