import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { useClock } from '#lib/base/time.ts'
import { eventBytes } from '../../services/notifier/event.fixture.ts'
import {
  keys,
  openNotifier,
  type TestNotifier,
  WEBHOOK_OWNER,
} from '../../services/notifier/notifier.fixture.ts'
import { receiveEvent } from '../../services/notifier/use-cases/receive-event.ts'
import { type AdjustableClock, createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, type ReceiverResponse, startReceiver } from '../support/receiver.ts'
import { CRASH_POINTS, type NotifierJob } from './notifier-crash.fixture.ts'

const CHILD = join(import.meta.dirname, 'notifier-crash.child.ts')
/** Longer than the lease of a destination. */
const AFTER_LEASE_MS = 6_000

let clock: AdjustableClock
let directory: string
let children: ChildProcess[]
const closers: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  clock = createAdjustableClock()
  const restore = useClock(clock)
  directory = await mkdtemp(join(tmpdir(), 'multihub-notifier-'))
  children = []
  closers.push(
    async () => restore(),
    () => rm(directory, { recursive: true, force: true }),
  )
})
afterEach(async () => {
  for (const child of children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  for (const close of closers.splice(0).toReversed()) await close()
})

async function receive(respond: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(respond)
  closers.push(() => receiver.stop())
  return receiver
}

async function openHere(): Promise<TestNotifier> {
  const notifier = await openNotifier(directory)
  await notifier.pipeline.start()
  closers.push(() => notifier.close())
  return notifier
}

/** One event for each receiver, of payments that have a `webhook_url` of their own. */
function newEvents(receivers: readonly Receiver[]): readonly string[] {
  const sealedSecret = keys.webhook.seal(newSecret(), WEBHOOK_OWNER)
  return receivers.map(({ url }, number) => {
    const webhook = { url, sealedSecret, secretOwner: WEBHOOK_OWNER }
    return Buffer.from(eventBytes({ eventKey: `p-${number}:3`, webhook })).toString('base64')
  })
}

function startChild(job: Omit<NotifierJob, 'directory'>) {
  const child = spawn(process.execPath, [CHILD, JSON.stringify({ directory, ...job })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** The callbacks of all receivers. */
const callbacksOf = (receivers: readonly Receiver[]) => receivers.flatMap(({ callbacks }) => callbacks)

/** Waits until each receiver has its event, and checks what they got: equal ids and bodies in duplicates. */
async function expectDelivered({ deliveries }: TestNotifier, ...receivers: readonly Receiver[]) {
  const stored = await eventually(
    () => deliveries.find('key', { equals: ['7001'] }, { limit: 100 }),
    (found) => found?.length === receivers.length && found.every(({ status }) => status === 'delivered'),
  )
  const bodies = new Map<string | undefined, Set<string>>()
  for (const { headers, raw } of callbacksOf(receivers)) {
    const id = headers['x-webhook-id']
    bodies.set(id, (bodies.get(id) ?? new Set()).add(raw.toString('base64')))
  }
  expect([...bodies.keys()].sort()).toEqual(stored.map(({ delivery_id }) => delivery_id).sort())
  for (const different of bodies.values()) expect(different.size).toBe(1)
  return stored
}

/** How many requests each event gets; the hand-over has no certain number. */
const REQUESTS: Partial<Record<(typeof CRASH_POINTS)[number], number>> = {
  'after the event is stored': 1,
  'before the request': 1,
  'after the response': 2,
  'after the result is stored': 1,
}

test.each(CRASH_POINTS)(
  'a notifier killed %s loses no event and sends none again that was delivered',
  async (point) => {
    const is_handed_over = point === 'in the hand-over'
    // Of many destinations, each with an origin of its own, the child owns some and hands them over. The first retries
    // fail too, so that the second ones are still to be made then.
    const receivers = await Promise.all(
      Array.from({ length: is_handed_over ? 20 : 1 }, () =>
        receive((tries) => ({ status: is_handed_over && tries <= 2 ? 500 : 200 })),
      ),
    )
    const events = newEvents(receivers)
    const early = is_handed_over ? await openHere() : undefined
    const child = startChild({ events, point })
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
    clock.stepWall(AFTER_LEASE_MS)
    const successor = early ?? (await openHere())
    const repeat = () =>
      Promise.all(events.map((event) => receiveEvent(successor, Buffer.from(event, 'base64'))))
    // The publisher repeats what got no receipt. All other deliveries go on without that.
    if (point === 'after the event is stored') await repeat()
    await expectDelivered(successor, ...receivers)
    const { length } = callbacksOf(receivers)
    expect(length).toBe(REQUESTS[point] ?? length)
    await repeat()
    expect(callbacksOf(receivers)).toHaveLength(length)
  },
)

test('an attempt interrupted by SIGKILL is repeated under its number', async () => {
  const receiver = await receive((number) => ({ status: number === 1 ? 0 : 200 }))
  const child = startChild({ events: newEvents([receiver]) })
  await eventually(
    async () => receiver.callbacks.length,
    (length) => length === 1,
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  clock.stepWall(AFTER_LEASE_MS)
  expect(await expectDelivered(await openHere(), receiver)).toMatchObject([
    { attempts: [{ number: 1, http_status: 200 }] },
  ])
  expect(receiver.callbacks).toHaveLength(2)
})

test('a notifier stopped by SIGSTOP for longer than its lease changes nothing when it goes on', async () => {
  const late = Promise.withResolvers<ReceiverResponse>()
  const receiver = await receive((number) => (number === 1 ? late.promise : { status: 200 }))
  const child = startChild({ events: newEvents([receiver]) })
  await eventually(
    async () => receiver.callbacks.length,
    (length) => length === 1,
  )
  child.stdin.write('stop\n')
  // This notifier takes the destination when its lease has ended, which is never while the child renews it.
  const successor = await openHere()
  const delivered = await expectDelivered(successor, receiver)
  late.resolve({ status: 500 })
  child.kill('SIGCONT')
  await once(createInterface({ input: child.stdout }), 'line')
  child.stdin.end()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(await expectDelivered(successor, receiver)).toEqual(delivered)
  expect(receiver.callbacks).toHaveLength(2)
})
