import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { Ambiguous, Conflict } from '../errors.ts'
import { type LmdbEnvironment, openEnvironment } from './environment.ts'
import type { PlannedWrite } from './writer.ts'

describe('the writer', () => {
  let directory: string
  let environment: LmdbEnvironment
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'store-writer-'))
    environment = await openEnvironment(directory, HANG_LIMIT_MS)
  })
  afterEach(async () => {
    await environment.release()
    await rm(directory, { recursive: true, force: true })
  })

  const put = (key: string): void => void environment.table.put(key, Buffer.from(key))
  const putting = (key: string): PlannedWrite<void> => ({ result: undefined, apply: () => put(key) })
  const keys = (): string[] =>
    environment.read(() => [...environment.table.getKeys({ start: 'a', end: 'z' })])

  test('gives each write its own result, and a refused write does not affect the others', async () => {
    const outcomes = await Promise.allSettled([
      environment.write(() => putting('a')),
      environment.write(() => {
        throw new Conflict('refused')
      }),
      environment.write(() => ({ result: 5 })),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[2]).toMatchObject({ value: 5 })
    expect(keys()).toEqual(['a'])
  })

  test('makes a write durable together with the one that it follows', async () => {
    const steps: string[] = []
    const step = (name: string) => () => {
      steps.push(name)
      return putting(name)
    }
    const first = environment.write(step('a'))
    const second = environment.write(step('b'), first)
    await Promise.all([first.then(() => steps.push('a is durable')), second])
    expect(steps).toEqual(['a', 'b', 'a is durable'])
    expect(keys()).toEqual(['a', 'b'])
  })

  test('rolls back the group when a write throws after a put', async () => {
    const outcomes = await Promise.allSettled([
      environment.write(() => putting('a')),
      environment.write(() => ({
        result: undefined,
        apply() {
          put('b')
          throw new RangeError('in the middle')
        },
      })),
      environment.write(() => putting('c')),
    ])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(Unavailable) })
    expect(keys()).toEqual([])
    await environment.write(() => putting('d'))
    expect(keys()).toEqual(['d'])
  })

  test('refuses further writes while 20,000 wait', async () => {
    const writes = Array.from({ length: 20_010 }, () => environment.write(() => ({ result: undefined })))
    const outcomes = await Promise.allSettled(writes)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(10)
  })

  test('undoes at most 1,000 writes together', async () => {
    const writes = Array.from({ length: 1_000 }, (_, at) => environment.write(() => putting(`a${at}`)))
    const failing = environment.write(() => ({
      result: undefined,
      apply() {
        throw new RangeError('in the next group')
      },
    }))
    await expect(failing).rejects.toBeInstanceOf(Unavailable)
    await Promise.all(writes)
    expect(keys()).toHaveLength(1_000)
  })

  test('gives up writes at the time limit: ambiguous in the group at work, not done in the queue', async () => {
    let elapsed_ms = 0
    const timers: (() => void)[] = []
    const restore = useClock({
      now_ms: () => elapsed_ms,
      monotonic_ms: () => elapsed_ms,
      after(_delay_ms, action) {
        timers.push(action)
        return { cancel: () => {} }
      },
    })
    // The first write after an open begins to watch the time.
    await environment.release()
    environment = await openEnvironment(directory, HANG_LIMIT_MS)
    const late: Promise<void>[] = []
    const running = environment.write(() => {
      late.push(environment.write(() => putting('b')))
      elapsed_ms += HANG_LIMIT_MS
      for (const act of timers.splice(0)) act()
      return putting('a')
    })
    const [first, second] = await Promise.allSettled([running, running.catch(() => late[0])])
    restore()
    expect(first).toMatchObject({ reason: expect.any(Ambiguous) })
    expect(second).toMatchObject({ reason: expect.any(Unavailable) })
    expect(second).not.toMatchObject({ reason: expect.any(Ambiguous) })
    await environment.write(() => putting('c'))
    expect(keys()).toEqual(['a', 'c'])
  })

  test('finishes accepted writes before it closes, and accepts no more', async () => {
    const written = environment.write(() => putting('a'))
    const closing = environment.release()
    await expect(environment.write(() => putting('b'))).rejects.toBeInstanceOf(Unavailable)
    await closing
    await written
    expect(() => keys()).toThrow(Unavailable)
  })

  test('opens while another handle on the same directory is closing', async () => {
    await environment.write(() => putting('a'))
    for (let round = 0; round < 20; round += 1) {
      const writing = environment.write(() => putting(`b${round}`))
      const [next] = await Promise.all([
        openEnvironment(directory, HANG_LIMIT_MS),
        environment.release(),
        writing,
      ])
      environment = next
      expect(keys()).toContain(`b${round}`)
    }
  })

  test('refuses a path that cannot be a directory with a clear message', async () => {
    await expect(openEnvironment('/dev/null/store', 5_000)).rejects.toThrow(
      /cannot use \/dev\/null\/store .*make it/,
    )
  })
})
