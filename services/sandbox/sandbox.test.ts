import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { createSwitchedClockGuard } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { openSandboxFixture, SANDBOX_KEY, type SandboxFixture, startSandbox } from './sandbox.fixture.ts'

let fixture: SandboxFixture
beforeEach(async () => {
  fixture = await openSandboxFixture()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

test('after a restart only an unacknowledged callback is sent again', async () => {
  const sandbox = await startSandbox(fixture.directory)
  await fixture.connect(sandbox).create(fixture.orderOf(1), HANG_LIMIT_MS)
  await fixture.receiver.received('deposit-1', 1)
  fixture.receiver.respondWith(500)
  await fixture.connect(sandbox).create(fixture.orderOf(2), HANG_LIMIT_MS)
  await fixture.receiver.received('deposit-2', 1)
  await sandbox.stop()

  fixture.receiver.respondWith(204)
  const again = await startSandbox(fixture.directory)
  await fixture.receiver.received('deposit-2', 2)
  await fixture.connect(again).create(fixture.orderOf(3), HANG_LIMIT_MS)
  await fixture.receiver.received('deposit-3', 1)
  expect(
    fixture.receiver.reports.filter(({ idempotency_key }) => idempotency_key === 'deposit-1'),
  ).toHaveLength(1)
  await again.stop()
})

test('an operation completes while the sandbox is stopped, and its callback is sent after the restart', async () => {
  const adjustable = createAdjustableClock()
  const restore = useClock(adjustable)
  try {
    const sandbox = await startSandbox(fixture.directory, { MULTIHUB_SANDBOX_DELAY: '30m' })
    const created = await fixture.connect(sandbox).create(fixture.orderOf(1), HANG_LIMIT_MS)
    await sandbox.stop()
    expect(created.kind).toBe('pending')
    expect(fixture.receiver.reports).toEqual([])

    adjustable.stepWall(31 * 60_000)
    const again = await startSandbox(fixture.directory)
    const [report] = await fixture.receiver.received('deposit-1', 1)
    expect(report?.result).toMatchObject({ kind: 'success', amount: { minor: 1_000_000n, currency: 'INR' } })
    await again.stop()
  } finally {
    restore()
  }
})

test('stopping the sandbox closes a connection that an amount ending in 903 keeps open', async () => {
  const sandbox = await startSandbox(fixture.directory)
  const outcome = fixture.connect(sandbox).create(fixture.orderOf(1, 903), HANG_LIMIT_MS)
  const isCreated = async (): Promise<boolean> => {
    const found = await fixture.connect(sandbox).lookUp(fixture.orderOf(1), HANG_LIMIT_MS)
    return found.kind !== 'not_found'
  }
  while (!(await isCreated()));
  await sandbox.stop()
  expect(await outcome).toMatchObject({ kind: 'unknown' })
})

test('an amount that ends in 903 keeps a connection open for the configured time', async () => {
  const sandbox = await startSandbox(fixture.directory, { MULTIHUB_SANDBOX_SILENCE: '20ms' })
  expect(await fixture.connect(sandbox).create(fixture.orderOf(1, 903), HANG_LIMIT_MS)).toMatchObject({
    kind: 'unknown',
  })
  await sandbox.stop()
})

// R8: a refusal would end the deposit. Without a response of the protocol its outcome is unknown, and it is sent again.
test('a sandbox whose clock is wrong refuses no signature as stale', async () => {
  const path = '/provider/v1/operations/deposit-1'
  const guard = createSwitchedClockGuard()
  const sandbox = await startSandbox(fixture.directory, {}, guard)
  const adjustable = createAdjustableClock()
  const restore = useClock(adjustable)
  try {
    const signed = { account_id: 'sandbox', method: 'GET', path, body: Buffer.alloc(0) }
    const headers = signRequest(new Secret(SANDBOX_KEY), signed)
    adjustable.stepWall(3_600_000)
    guard.setTrusted(false)
    expect((await fetch(sandbox.url + path, { headers })).status).toBe(503)
    const connector = fixture.connect(sandbox)
    expect(await connector.create(fixture.orderOf(1), HANG_LIMIT_MS)).toMatchObject({ kind: 'unknown' })
    expect(await connector.lookUp(fixture.orderOf(1), HANG_LIMIT_MS)).toMatchObject({ kind: 'unknown' })
    guard.setTrusted(true)
    const again = { ...fixture.orderOf(1), earlier_result_unknown: true }
    expect(await connector.create(again, HANG_LIMIT_MS)).toMatchObject({ kind: 'pending' })
  } finally {
    restore()
    await sandbox.stop()
  }
})
