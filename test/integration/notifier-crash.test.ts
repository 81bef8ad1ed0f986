import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { useClock } from '#lib/platform/time.ts'
import { eventBytes } from '../../services/notifier/event.fixture.ts'
import { keyring, openNotifier, WEBHOOK_OWNER } from '../../services/notifier/notifier.fixture.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver } from '../support/receiver.ts'

const CHILD = join(import.meta.dirname, 'notifier-crash.child.ts')
/** Longer than the lease of a destination. */
const AFTER_LEASE_MS = 6_000

test('an attempt interrupted by SIGKILL is repeated under the same delivery id', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-notifier-'))
  const receiver = await startReceiver((count) => ({ status: count === 1 ? 0 : 200 }))
  const webhook = {
    url: receiver.url,
    sealedSecret: keyring.seal(newSecret(), WEBHOOK_OWNER),
    secretOwner: WEBHOOK_OWNER,
  }
  const event = Buffer.from(eventBytes({ webhook })).toString('base64')
  const child = spawn(process.execPath, [CHILD, JSON.stringify({ directory, event })], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  try {
    await eventually(
      async () => receiver.callbacks.length,
      (length) => length === 1,
    )
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  // A time at which the lease of the killed process has expired.
  const adjustable = createAdjustableClock()
  adjustable.stepWall(AFTER_LEASE_MS)
  const restore = useClock(adjustable)
  const successor = await openNotifier(directory)
  const deliveries = () => successor.deliveries.find('key', { equals: ['7001'] }, { limit: 100 })
  try {
    await successor.pipeline.start()
    await eventually(deliveries, (stored) => stored?.[0]?.status === 'delivered')
    const [first, second] = receiver.callbacks
    expect(receiver.callbacks).toHaveLength(2)
    expect(second?.headers['x-webhook-id']).toBe(first?.headers['x-webhook-id'])
    expect(second?.raw.equals(first?.raw ?? Buffer.alloc(0))).toBe(true)
    expect(await deliveries()).toMatchObject([{ attempts: [{ number: 1, http_status: 200 }] }])
  } finally {
    await successor.close()
    restore()
    await receiver.stop()
    await rm(directory, { recursive: true, force: true })
  }
})
