import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, test } from '@jest/globals'
import { MongoClient, MongoServerError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { createMongoCalls } from './calls.ts'

const client = new MongoClient('mongodb://127.0.0.1:1')
afterEach(() => client.close())

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

  test('leave connections to reads while writes hang', async () => {
    const calls = createMongoCalls(client, 200, 10)
    let started = 0
    const hanging = Array.from({ length: 20 }, () =>
      calls
        .write(() => {
          started += 1
          send()
          return new Promise<never>(() => {})
        })
        .catch((error: unknown) => error),
    )
    expect(await calls.read(async () => 'read')).toBe('read')
    expect(started).toBe(8)
    const failures = await Promise.all(hanging)
    expect(failures.filter((failure) => failure instanceof Ambiguous)).toHaveLength(8)
    expect(failures.filter((failure) => failure instanceof Unavailable)).toHaveLength(20)
    expect(started).toBe(8)
  })
})
