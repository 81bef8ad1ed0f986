import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { BOUND_TO, keyring } from '../../services/notifier/notifier-parts.fixture.ts'
import { newDeposit } from '../../services/payments/payment.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { CRASH_POINTS, openResend, type ResendParts } from './resend.parts.ts'

const CHILD = join(import.meta.dirname, 'resend.child.ts')

let directory: string
let receiver: Receiver
let parts: ResendParts
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-resend-'))
  receiver = await startReceiver()
  parts = await openResend(directory)
  const webhook = { url: receiver.url, sealed_secret: keyring.seal(newSecret(), BOUND_TO) }
  await parts.payments.payments.insert(newDeposit({ state: 'success', webhook, effects: [] }))
  parts.notifier.runner.start()
})
afterAll(async () => {
  await parts.close()
  await receiver.stop()
  await rm(directory, { recursive: true, force: true })
})

const came = (delivery_id: string | undefined): Promise<boolean> =>
  eventually(
    async () => receiver.callbacks.some(({ headers }) => headers['x-webhook-id'] === delivery_id),
    Boolean,
  )

test.each(CRASH_POINTS)('killed when it was "%s": the retry answers what is queued, once', async (point) => {
  const operation_id = `killed when ${point}`
  const before = receiver.callbacks.length
  const job = JSON.stringify({ directory, operation_id, point })
  const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')

  // What the dead process had queued is delivered, whether or not anybody asks for it again.
  if (point !== 'asked') {
    await eventually(
      async () => receiver.callbacks.length,
      (count) => count === before + 1,
    )
  }
  const queued = receiver.callbacks[before]?.headers['x-webhook-id']
  const [delivery_id, ...others] = await parts.resend(operation_id)
  expect(others).toEqual([])
  if (point !== 'asked') expect(delivery_id).toBe(queued)
  await came(delivery_id)
  expect(await parts.resend(operation_id)).toEqual([delivery_id])

  const [another] = await parts.resend(`after ${operation_id}`)
  await came(another)
  expect(receiver.callbacks).toHaveLength(before + 2)
})
