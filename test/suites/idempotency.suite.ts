import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { isUuid } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { SeededId } from '#lib/patterns/idempotency/idempotency.ts'
import type { StoreLocation } from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'
import { installManualClock } from '../support/manual-clock.ts'
import {
  CRASH_POINTS,
  type IdempotencySystem,
  keyNamed,
  openIdempotencySystem,
  runMutation,
  STEPS,
  stepOnce,
} from './idempotency.system.ts'

const CHILD = join(import.meta.dirname, 'idempotency.child.ts')
const KEY = keyNamed('one')
const refusal = new PublicError(11002)
const CODE_1013 = expect.objectContaining({ code: 1013 })

/**
 * The suite for the idempotency guard, which must pass on every store. `newStoreLocation` returns the location of an
 * empty store.
 */
export function idempotencySuite(name: string, newStoreLocation: () => Promise<StoreLocation>): void {
  describe(`idempotency on ${name}`, () => {
    let store_location: StoreLocation
    let system: IdempotencySystem
    beforeEach(async () => {
      store_location = await newStoreLocation()
      system = await openIdempotencySystem(store_location)
    })
    afterEach(() => system.store.close())

    const run = (
      work: (id: SeededId) => Promise<Uint8Array>,
      hash = 'hash',
      lifetime_ms?: number,
    ): Promise<string> =>
      system.idempotency.run(KEY, hash, work, lifetime_ms).then((result) => Buffer.from(result).toString())
    const recorded = () => system.records.get({ ...KEY })
    const mutate = (hash = 'hash'): Promise<string> => run((id) => runMutation(system, id), hash)
    const refuse = (): Promise<string> =>
      run(async () => {
        throw refusal
      })
    const stepsDone = async (): Promise<number> => {
      const found = STEPS.map((label) => system.steps.find('by_label', { equals: [label] }, { limit: 100 }))
      return (await Promise.all(found)).flat().length
    }
    const never = async (): Promise<Uint8Array> => {
      throw new Error('the work must not run again')
    }

    test('returns the stored result for the same payload without doing the work again', async () => {
      const first = await mutate()
      expect(await run(never)).toBe(first)
      expect(await stepsDone()).toBe(STEPS.length)
    })

    // R8
    test('stores nothing while the clock of the process is wrong', async () => {
      system.clock_guard.setTrusted(false)
      await expect(run(never)).rejects.toThrow('the clock of this process is wrong')
      expect(await recorded()).toBeUndefined()
      system.clock_guard.setTrusted(true)
      await mutate()
    })

    test('refuses another payload with 1013 during the work and afterwards', async () => {
      await run(async (id) => {
        await expect(mutate('another')).rejects.toEqual(CODE_1013)
        return runMutation(system, id)
      })
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
    })

    test.each(['merchant_id', 'environment', 'method', 'key'] as const)(
      'keeps keys with a different %s apart',
      async (field) => {
        const first = await mutate()
        const other = { ...KEY, [field]: 'production' }
        const result = await system.idempotency.run(other, 'another', (id) => runMutation(system, id))
        expect(Buffer.from(result).toString()).not.toBe(first)
      },
    )

    test('gives 50 concurrent executions the same result and stores each step once', async () => {
      const results = await Promise.all(Array.from({ length: 50 }, () => mutate()))
      expect(new Set(results).size).toBe(1)
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('accepts one of two concurrent payloads and refuses the other with 1013', async () => {
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, number) => mutate(number % 2 === 0 ? 'even' : 'odd')),
      )
      const refused = results.filter(({ status }) => status === 'rejected')
      expect(refused).toHaveLength(10)
      for (const result of refused) expect(result).toMatchObject({ reason: { code: 1013 } })
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('frees the key after a refusal, also for another payload', async () => {
      await expect(refuse()).rejects.toBe(refusal)
      await mutate('another')
    })

    test('deletes the record of a freed key, and keeps one with a result', async () => {
      await expect(refuse()).rejects.toBe(refusal)
      expect(await recorded()).toBeUndefined()
      await mutate()
      expect(await recorded()).toHaveProperty('result')
    })

    test.each([
      ['has a result', (id: SeededId) => runMutation(system, id)],
      ['failed with a fault', never],
      ['never ended', () => new Promise<Uint8Array>(() => {})],
    ])('keeps a key until the end of its lifetime when its work %s, and no longer', async (what, work) => {
      const lifetime_ms = 3_600_000
      using clock = installManualClock(now().getTime())
      const first = run(work, 'hash', lifetime_ms)
      if (what === 'has a result') await first
      else await Promise.race([first.catch(() => {}), eventually(recorded, (record) => record !== undefined)])
      clock.stepWall(lifetime_ms - 1)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
      if (what === 'has a result') expect(await run(never)).toBe(await first)
      clock.stepWall(1)
      await mutate('another')
    })

    test('gives a freed key with a lifetime a new lifetime', async () => {
      const lifetime_ms = 3_600_000
      await expect(run(() => Promise.reject(refusal), 'hash', lifetime_ms)).rejects.toBe(refusal)
      const before = now().getTime()
      await run((id) => runMutation(system, id), 'another', lifetime_ms)
      const expires_ms = (await recorded())?.expires_at?.getTime() ?? 0
      expect(expires_ms - lifetime_ms).toBeGreaterThanOrEqual(before)
      expect(expires_ms - lifetime_ms).toBeLessThanOrEqual(now().getTime())
    })

    test.each([
      ['a fault', new Error('the process met a fault')],
      ['an unavailable dependency', new PublicError(2002)],
      ['a fault of another service', new PublicError(2001)],
      ['a fault of Multihub', new PublicError(2000)],
    ])('keeps the key and its ids after %s, because the outcome is unknown', async (_what, fault) => {
      const first_ids: string[] = []
      const work = run(async (id) => {
        first_ids.push(await stepOnce(system, STEPS[0], id))
        throw fault
      })
      await expect(work).rejects.toBe(fault)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
      expect((await mutate()).split(' ')[0]).toBe(first_ids[0])
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('keeps the key with its payload when a refusal follows a fault: the first try may have succeeded', async () => {
      const [done] = STEPS
      const first_ids: string[] = []
      const work = run(async (id) => {
        first_ids.push(await stepOnce(system, done, id))
        throw new PublicError(2002)
      })
      await expect(work).rejects.toMatchObject({ code: 2002 })
      for (let repetition = 0; repetition < 3; repetition += 1) await expect(refuse()).rejects.toBe(refusal)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
      expect((await mutate()).split(' ')[0]).toBe(first_ids[0])
    })

    test.each(['earlier', 'later'])(
      'keeps the work of the %s execution when the other one is refused',
      async (who) => {
        const earlier_began = Promise.withResolvers<void>()
        const later_ended = Promise.withResolvers<void>()
        const earlier = run(async (id) => {
          earlier_began.resolve()
          await later_ended.promise
          if (who === 'later') throw refusal
          return runMutation(system, id)
        })
        await earlier_began.promise
        const later = who === 'earlier' ? refuse() : mutate()
        if (who === 'earlier') await expect(later).rejects.toBe(refusal)
        else await later
        later_ended.resolve()
        const result = await (who === 'earlier' ? earlier : later)
        if (who === 'later') await expect(earlier).rejects.toBe(refusal)
        // The refused client repeats its request: it gets the result, and the work does not run again.
        expect(await run(never)).toBe(result)
        expect(await stepsDone()).toBe(STEPS.length)
      },
    )

    test('frees the key when all concurrent executions were refused', async () => {
      const results = await Promise.allSettled(Array.from({ length: 10 }, () => refuse()))
      expect(results.every(({ status }) => status === 'rejected')).toBe(true)
      await mutate('another')
    })

    test('never lets two payloads work under one key, in any order of executions', async () => {
      const at_work = new Map<string, number>()
      const visit = async (number: number): Promise<void> => {
        const payload = `payload ${number % 3}`
        const work = run(async () => {
          at_work.set(payload, (at_work.get(payload) ?? 0) + 1)
          await system.records.get({ ...KEY })
          expect([...at_work.values()].filter((count) => count > 0)).toHaveLength(1)
          at_work.set(payload, (at_work.get(payload) ?? 0) - 1)
          throw refusal
        }, payload)
        await expect(work).rejects.toMatchObject({ name: 'PublicError' })
      }
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(Array.from({ length: 12 }, (_, number) => visit(number)))
      }
    })

    test('keeps the key of an execution that crashed or is slow with its payload, however long that takes', async () => {
      using clock = installManualClock(now().getTime())
      const begun = Promise.withResolvers<void>()
      const ended = Promise.withResolvers<Uint8Array>()
      const slow = run(() => {
        begun.resolve()
        return ended.promise
      })
      await begun.promise
      clock.stepWall(3_600_000)
      await expect(refuse()).rejects.toBe(refusal)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
      ended.resolve(Buffer.from('of the slow one'))
      expect(await slow).toBe('of the slow one')
      expect(await run(never)).toBe('of the slow one')
    })

    test('stays small when it is tried again and again during an outage', async () => {
      const fail = (): Promise<string> => run(() => Promise.reject(new PublicError(2002)))
      await expect(fail()).rejects.toMatchObject({ code: 2002 })
      const after_first = await recorded()
      for (let repetition = 0; repetition < 20; repetition += 1) await Promise.allSettled([fail(), refuse()])
      expect(await recorded()).toEqual(after_first)
    })

    test('stays small when many executions crash', async () => {
      for (let number = 0; number < 200; number += 1) {
        const begun = Promise.withResolvers<void>()
        void run(() => {
          begun.resolve()
          return new Promise(() => {})
        })
        await begun.promise
      }
      expect((await recorded())?.executions.length).toBeLessThanOrEqual(64)
      await expect(refuse()).rejects.toBe(refusal)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
    })

    test('derives one version 7 UUID per label, with the time of the first try', async () => {
      const before = now().getTime()
      const labels = Array.from({ length: 200 }, (_, number) => `label ${number}`)
      const tries: string[][] = []
      const work = async (id: SeededId): Promise<Uint8Array> => {
        tries.push(labels.map(id))
        throw new Error('try again')
      }
      await expect(run(work)).rejects.toThrow('try again')
      await expect(run(work)).rejects.toThrow('try again')
      const [first = [], second] = tries
      expect(second).toEqual(first)
      expect(new Set(first).size).toBe(labels.length)
      for (const id of first) {
        expect(isUuid(id)).toBe(true)
        expect(id[14]).toBe('7')
        expect(timeOf(id)).toBeGreaterThanOrEqual(before)
        expect(timeOf(id)).toBeLessThanOrEqual(now().getTime())
      }
    })

    test.each(CRASH_POINTS)(
      'completes the mutation under the same ids after a crash at "%s"',
      async (point) => {
        const job = JSON.stringify({ store_location, point })
        const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
        const [, signal] = await once(child, 'exit')
        expect(signal).toBe('SIGKILL')
        const steps_before_crash = await stepsDone()
        const key = keyNamed('crash')
        const result = await system.idempotency.run(key, 'hash', (id) =>
          point === 'complete' ? never() : runMutation(system, id),
        )
        expect(steps_before_crash).toBe(Math.min(CRASH_POINTS.indexOf(point), STEPS.length))
        expect(await stepsDone()).toBe(STEPS.length)
        for (const step_id of Buffer.from(result).toString().split(' ')) {
          expect(await system.steps.get({ step_id })).toBeDefined()
        }
      },
    )
  })
}

/** The timestamp of a UUIDv7, in milliseconds. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
