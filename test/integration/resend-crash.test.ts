import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { keys, WEBHOOK_OWNER } from '../../services/notifier/notifier.fixture.ts'
import { newDeposit } from '../../services/payments/payment.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { CRASH_POINTS, openResend, type ResendProcess } from './resend-crash.fixture.ts'

const CHILD = join(import.meta.dirname, 'resend-crash.child.ts')

let directory: string
let receiver: Receiver
let system: ResendProcess
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-resend-'))
  receiver = await startReceiver()
  system = await openResend(directory)
  const webhook = { url: receiver.url, sealed_secret: keys.webhook.seal(newSecret(), WEBHOOK_OWNER) }
  await system.payments.payments.insert(newDeposit({ status: 'success', webhook, effects: [] }))
  await system.notifier.pipeline.start()
})
afterAll(async () => {
  await system.close()
  await receiver.stop()
  await rm(directory, { recursive: true, force: true })
})

const isReceived = (delivery_id: string | undefined): Promise<boolean> =>
  eventually(
    async () => receiver.callbacks.some(({ headers }) => headers['x-webhook-id'] === delivery_id),
    Boolean,
  )

test.each(CRASH_POINTS)('a resend killed %s is delivered once by its repetition', async (point) => {
  const operation_id = `killed ${point}`
  const is_queued = point !== 'before queueing'
  const before = receiver.callbacks.length
  const job = JSON.stringify({ directory, operation_id, point })
  const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')

  // A queued delivery is sent even if the request is never repeated.
  if (is_queued) {
    await eventually(
      async () => receiver.callbacks.length,
      (count) => count === before + 1,
    )
  }
  const queued = receiver.callbacks[before]?.headers['x-webhook-id']
  const [delivery_id, ...others] = await system.resend(operation_id)
  expect(others).toEqual([])
  if (is_queued) expect(delivery_id).toBe(queued)
  await isReceived(delivery_id)
  expect(await system.resend(operation_id)).toEqual([delivery_id])

  const [another] = await system.resend(`after ${operation_id}`)
  await isReceived(another)
  expect(receiver.callbacks).toHaveLength(before + 2)
})
