import { afterAll, expect, test } from '@jest/globals'
import { type AdjustableClock, createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import type { ThreadCall } from './thread.fixture.ts'
import { createThread, type Thread, ThreadLimitExceeded, useCallingThread } from './thread.ts'
import { useClock } from './time.ts'

const opened: Thread<ThreadCall, string>[] = []
const ONE_BYTE: ThreadCall = { does: 'measure', bytes: new Uint8Array(1) }
afterAll(() => Promise.all(opened.map((thread) => thread.close())))

/** A thread whose calls end long before their limit, unless a test sets another one. */
function threadWith({ processor_ms = 60_000 } = {}): Thread<ThreadCall, string> {
  const entry = new URL('./thread.fixture.ts', import.meta.url)
  const thread = createThread<ThreadCall, string>(
    { entry, run: () => 'in the calling thread' },
    { processor_ms, heap_mib: 32 },
  )
  opened.push(thread)
  return thread
}

/** Installs a clock on which a second passes in 10 milliseconds, so that a thread is looked at as often as that. */
function fastClock(): AdjustableClock & Disposable & { readonly begin_ms: number } {
  const clock = createAdjustableClock()
  clock.setRate(100)
  return { ...clock, begin_ms: clock.monotonic_ms(), [Symbol.dispose]: useClock(clock) }
}

test('moves the buffers of a call to the thread', async () => {
  const bytes = new Uint8Array(1_000_000)
  expect(await threadWith().run({ does: 'measure', bytes }, [bytes.buffer])).toBe('1000000 bytes')
  expect(bytes.length).toBe(0)
})

test('runs calls one after the other', async () => {
  const thread = threadWith()
  const lengths = Array.from({ length: 20 }, (_, length) => length)
  const outputs = lengths.map((length) => thread.run({ does: 'measure', bytes: new Uint8Array(length) }))
  expect(await Promise.all(outputs)).toEqual(lengths.map((length) => `${length} bytes`))
})

test('hands over no environment variables', async () => {
  expect(await threadWith().run({ does: 'read the environment' })).toBe('')
})

test('leaves this thread free while a call runs, and close ends the call', async () => {
  const thread = threadWith()
  const hanging = thread.run({ does: 'hang' }).catch(String)
  const waiting = thread.run(ONE_BYTE).catch(String)
  // Were the call in this thread, this line would never be reached.
  await new Promise(setImmediate)
  await thread.close()
  expect([await hanging, await waiting]).toEqual([
    'Error: the thread is closed',
    'Error: the thread is closed',
  ])
})

test('ends a call at its limit of processor time, and starts anew', async () => {
  using _clock = fastClock()
  // The start of the new thread counts for its first call: about 50 ms.
  const thread = threadWith({ processor_ms: 1_000 })
  await expect(thread.run({ does: 'hang' })).rejects.toThrow(ThreadLimitExceeded)
  expect(await thread.run(ONE_BYTE)).toBe('1 bytes')
})

test('counts what a call uses, not the time that passes or what calls before it have used', async () => {
  using clock = fastClock()
  const thread = threadWith({ processor_ms: 500 })
  for (let call = 0; call < 4; call += 1) await thread.run({ does: 'work', processor_ms: 300 })
  expect(clock.monotonic_ms() - clock.begin_ms).toBeGreaterThan(100 * 500)
})

test('ends a call that needs more than its heap, and starts anew', async () => {
  const thread = threadWith()
  await expect(thread.run({ does: 'use up the heap' })).rejects.toThrow(ThreadLimitExceeded)
  expect(await thread.run(ONE_BYTE)).toBe('1 bytes')
})

test.each([
  ['throw', 'not a file'],
  ['exit', 'the thread ended by itself'],
] as const)('throws when the call makes the thread %s, and starts anew', async (does, message) => {
  const thread = threadWith()
  await expect(thread.run({ does })).rejects.toThrow(message)
  expect(await thread.run(ONE_BYTE)).toBe('1 bytes')
})

test('takes no call after its end', async () => {
  const thread = threadWith()
  await thread.close()
  await expect(thread.run(ONE_BYTE)).rejects.toThrow('the thread is closed')
})

test('calls the task in this thread where simulation asks for that', async () => {
  const restore = useCallingThread()
  try {
    expect(await threadWith().run(ONE_BYTE)).toBe('in the calling thread')
  } finally {
    restore()
  }
})
