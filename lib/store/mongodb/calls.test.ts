import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { MongoClient, MongoServerError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { Ambiguous } from '../errors.ts'
import { parseLayout } from '../layout.ts'
import type { CollectionSpec } from '../store.ts'
import { createMongoCalls, type Deadline, type MongoCalls } from './calls.ts'
import { createCollection } from './collection.ts'
import type { MongoCollection } from './documents.ts'

const client = new MongoClient('mongodb://127.0.0.1:1')
afterEach(() => client.close())

const HEARTBEATS: CollectionSpec = {
  name: 'heartbeats',
  partition: ['role'],
  key: ['role', 'address'],
  is_urgent: true,
}

type Documents = MongoCollection['documents']

/** Emits the event that the driver emits when it sends a command. */
const send = (): void => void EventEmitter.prototype.emit.call(client, 'commandStarted')

/** A write that fails with each of `failures` in turn and then succeeds, and counts its tries. */
function writer(...failures: readonly Error[]): { write(): Promise<string>; tries(): number } {
  let tries = 0
  return {
    async write() {
      send()
      const failure = failures[tries]
      tries += 1
      if (failure !== undefined) throw failure
      return 'written'
    },
    tries: () => tries,
  }
}

/** A write that a test ends. `result` is what it resolves to or its error. */
interface HangingWrite {
  readonly result: Promise<unknown>
  hasStarted(): boolean
  finish(): void
  fail(error: Error): void
}

const deadlock = (code: number): MongoServerError =>
  new MongoServerError({ code, message: 'deadlock detected' })

describe('a write that MongoDB rolled back because of a deadlock', () => {
  test.each([16_908_292, 1])('is retried (code %d)', async (code) => {
    const { write, tries } = writer(deadlock(code), deadlock(code))
    expect(await createMongoCalls(client, 5_000, 10).write(write)).toBe('written')
    expect(tries()).toBe(3)
  })

  test('fails with Unavailable at the time limit, because nothing was written', async () => {
    const write = async (): Promise<void> => {
      send()
      throw deadlock(1)
    }
    const failure = await createMongoCalls(client, 100, 10)
      .write(write)
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Unavailable)
    expect(failure).not.toBeInstanceOf(Ambiguous)
  })

  test('is not retried if the driver sent it twice, because the first one may have been written', async () => {
    const { write, tries } = writer(deadlock(1))
    const twice = (): Promise<string> => {
      send()
      return write()
    }
    await expect(createMongoCalls(client, 5_000, 10).write(twice)).rejects.toBeInstanceOf(Ambiguous)
    expect(tries()).toBe(1)
  })

  test('differs from another failure with code 1', async () => {
    const { write, tries } = writer(new MongoServerError({ code: 1, message: 'the disk is full' }))
    await expect(createMongoCalls(client, 5_000, 10).write(write)).rejects.toBeInstanceOf(Ambiguous)
    expect(tries()).toBe(1)
  })
})

describe('the limits of a call', () => {
  test('end on the server before the caller gives up', async () => {
    const calls = createMongoCalls(client, 1_000, 10)
    const read = await calls.read(async (options) => options)
    const write = await calls.write(async (options) => options)
    for (const { maxTimeMS } of [read, write]) {
      expect(maxTimeMS).toBeGreaterThan(0)
      expect(maxTimeMS).toBeLessThan(1_000)
    }
    expect(write.writeConcern).toEqual({ w: 'majority', journal: true, wtimeoutMS: expect.any(Number) })
    expect(write.writeConcern.wtimeoutMS).toBeLessThan(1_000)
  })
})

describe('the connections that writes may use, 8 of 11', () => {
  const timeoutMs = 200
  let clock: InstalledClock
  let calls: MongoCalls
  beforeEach(() => {
    clock = installManualClock()
    calls = createMongoCalls(client, timeoutMs, 11)
  })
  afterEach(() => clock[Symbol.dispose]())

  /** Starts writes that hang until they are ended. */
  function hang(count: number, deadline?: Deadline): readonly HangingWrite[] {
    return Array.from({ length: count }, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      let started = false
      const work = (): Promise<string> => {
        started = true
        send()
        return promise
      }
      const result = calls.write(work, deadline).catch((error: unknown) => error)
      return { result, hasStarted: () => started, finish: () => resolve('written'), fail: reject }
    })
  }

  const startedOf = (writes: readonly HangingWrite[]): number =>
    writes.filter((write) => write.hasStarted()).length

  test('leave the others to reads while writes hang', async () => {
    const writes = hang(20)
    expect(await calls.read(async () => 'read')).toBe('read')
    await clock.advance(timeoutMs)
    const failures = await Promise.all(writes.map(({ result }) => result))
    expect(failures.filter((failure) => failure instanceof Ambiguous)).toHaveLength(8)
    expect(failures.filter((failure) => failure instanceof Unavailable)).toHaveLength(20)
    expect(startedOf(writes)).toBe(8)
  })

  test('leave one to urgent calls, also while reads hang that use all the others', async () => {
    const writes = hang(20)
    await settled()
    const reads = Array.from({ length: 20 }, () => {
      const read = calls.read(() => new Promise<never>(() => {}))
      return read.catch((error: unknown) => error)
    })
    await settled()
    const writeUrgently = async (): Promise<string> => {
      send()
      return 'written'
    }
    expect(await calls.writeUrgently(writeUrgently)).toBe('written')
    const heartbeat = { role: 'payments', address: 'a' }
    const found = { ...heartbeat, version: 2, _id: 'a' }
    const documents = {
      replaceOne: async () => ({ matchedCount: 1 }),
      findOne: async () => found,
    } as unknown as Documents
    const target = { documents, layout: parseLayout(HEARTBEATS), calls, now_ms: clock.now_ms }
    const heartbeats = createCollection<object>(target)
    expect(await heartbeats.replace(heartbeat, 1)).toMatchObject(heartbeat)
    expect(await heartbeats.get(heartbeat, { linearizable: true })).toMatchObject(heartbeat)
    await clock.advance(timeoutMs)
    expect(startedOf(writes)).toBe(8)
    for (const failure of await Promise.all(reads)) expect(failure).toBeInstanceOf(Unavailable)
    await Promise.all(writes.map(({ result }) => result))
  })

  test('are free again after writes that succeeded, failed or reached their deadline', async () => {
    const first = hang(8)
    await settled()
    for (const [index, write] of first.entries()) {
      if (index < 3) write.finish()
      else if (index < 6) write.fail(new MongoServerError({ code: 13, message: 'not permitted' }))
    }
    await clock.advance(timeoutMs)
    const second = hang(8)
    await settled()
    expect(startedOf(second)).toBe(8)
    for (const write of second) write.finish()
    expect(await Promise.all(second.map(({ result }) => result))).toEqual(Array(8).fill('written'))
  })

  test('go to the writes that wait, the first one first', async () => {
    const holders = hang(8)
    const waiting = hang(2)
    await settled()
    expect(startedOf(waiting)).toBe(0)
    for (const [index, started] of [
      [0, [true, false]],
      [1, [true, true]],
    ] as const) {
      holders[index]?.finish()
      await settled()
      expect(waiting.map((write) => write.hasStarted())).toEqual(started)
    }
    // Those that waited count too.
    const more = hang(1)
    await settled()
    expect(startedOf(more)).toBe(0)
  })

  test('are not waited for beyond the deadline of the write, nor kept for it', async () => {
    const deadline = calls.startDeadline()
    await clock.advance(timeoutMs / 2)
    const holders = hang(8)
    const [late] = hang(1, deadline)
    const next = hang(1)
    let failure: unknown
    void late?.result.then((result) => {
      failure = result
    })
    await clock.advance(timeoutMs / 2)
    expect(failure).toBeInstanceOf(Unavailable)
    expect(failure).not.toBeInstanceOf(Ambiguous)
    expect(startedOf(next)).toBe(0)
    holders[0]?.finish()
    await settled()
    expect(startedOf(next)).toBe(1)
    expect(late?.hasStarted()).toBe(false)
  })
})
