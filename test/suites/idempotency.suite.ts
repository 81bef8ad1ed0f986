import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { SeededId } from '#lib/patterns/idempotency/idempotency.ts'
import { isUuid } from '#lib/platform/ids.ts'
import { now, useClock } from '#lib/platform/time.ts'
import type { Place } from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'
import { createManualClock } from '../support/manual-clock.ts'
import {
  CRASH_POINTS,
  type IdempotencySystem,
  keyNamed,
  mutation,
  openIdempotencySystem,
  STEPS,
  stepOnce,
} from './idempotency.system.ts'

const CHILD = join(import.meta.dirname, 'idempotency.child.ts')
const KEY = keyNamed('one')
const refusal = new PublicError(11002)
const CODE_1013 = expect.objectContaining({ code: 1013 })

/** What the guard of mutations promises, on any store. `place` gives somewhere empty. */
export function idempotencyContract(name: string, place: () => Promise<Place>): void {
  describe(`idempotency on ${name}`, () => {
    let here: Place
    let system: IdempotencySystem
    beforeEach(async () => {
      here = await place()
      system = await openIdempotencySystem(here)
    })
    afterEach(() => system.store.close())

    const run = (
      work: (id: SeededId) => Promise<Uint8Array>,
      hash = 'hash',
      lifetime_ms?: number,
    ): Promise<string> =>
      system.idempotency.run(KEY, hash, work, lifetime_ms).then((result) => Buffer.from(result).toString())
    const recorded = () => system.records.get({ ...KEY })
    const mutate = (hash = 'hash'): Promise<string> => run((id) => mutation(system, id), hash)
    const refuse = (): Promise<string> =>
      run(async () => {
        throw refusal
      })
    const stepsDone = async (): Promise<number> => {
      const found = STEPS.map((label) => system.steps.find('by_label', { equals: [label] }, { limit: 100 }))
      return (await Promise.all(found)).flat().length
    }
    const never = async (): Promise<Uint8Array> => {
      throw new Error('this must not be done again')
    }

    test('the same payload gets the stored result, and nothing is done again', async () => {
      const first = await mutate()
      expect(await run(never)).toBe(first)
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('another payload is 1013, while the first is under way and afterwards', async () => {
      await run(async (id) => {
        await expect(mutate('another')).rejects.toEqual(CODE_1013)
        return mutation(system, id)
      })
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
    })

    test.each(['merchant_id', 'environment', 'method', 'key'] as const)(
      'keys that differ in their %s are apart',
      async (field) => {
        const first = await mutate()
        const other = { ...KEY, [field]: 'production' }
        const result = await system.idempotency.run(other, 'another', (id) => mutation(system, id))
        expect(Buffer.from(result).toString()).not.toBe(first)
      },
    )

    test('of 50 callers at once every one gets the one result, and the effect happens once', async () => {
      const results = await Promise.all(Array.from({ length: 50 }, () => mutate()))
      expect(new Set(results).size).toBe(1)
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('of two payloads at once one wins, and the other is 1013', async () => {
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, number) => mutate(number % 2 === 0 ? 'even' : 'odd')),
      )
      const refused = results.filter(({ status }) => status === 'rejected')
      expect(refused).toHaveLength(10)
      for (const result of refused) expect(result).toMatchObject({ reason: { code: 1013 } })
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('a refusal frees the key, also for another payload', async () => {
      await expect(refuse()).rejects.toBe(refusal)
      await mutate('another')
    })

    test('a free key is forgotten, one with a result is not', async () => {
      await expect(refuse()).rejects.toBe(refusal)
      expect(await system.records.get({ ...KEY })).toHaveProperty('expires_at')
      await mutate()
      expect(await system.records.get({ ...KEY })).not.toHaveProperty('expires_at')
    })

    test.each([
      ['a result', (id: SeededId) => mutation(system, id)],
      ['a fault', never],
      ['work that never ended', () => new Promise<Uint8Array>(() => {})],
    ])('%s under a key with a lifetime is remembered for so long, and then forgotten', async (what, work) => {
      const lifetime_ms = 3_600_000
      const clock = createManualClock(now().getTime())
      const restore = useClock(clock)
      try {
        const first = run(work, 'hash', lifetime_ms)
        if (what === 'a result') await first
        else
          await Promise.race([first.catch(() => {}), eventually(recorded, (record) => record !== undefined)])
        clock.stepWall(lifetime_ms - 1)
        await expect(mutate('another')).rejects.toEqual(CODE_1013)
        if (what === 'a result') expect(await run(never)).toBe(await first)
        clock.stepWall(1)
        await mutate('another')
      } finally {
        restore()
      }
    })

    test('a key with a lifetime that was freed can be used again, and lives anew', async () => {
      const lifetime_ms = 3_600_000
      await expect(run(() => Promise.reject(refusal), 'hash', lifetime_ms)).rejects.toBe(refusal)
      const before = now().getTime()
      await run((id) => mutation(system, id), 'another', lifetime_ms)
      const expires_ms = (await recorded())?.expires_at?.getTime() ?? 0
      expect(expires_ms - lifetime_ms).toBeGreaterThanOrEqual(before)
      expect(expires_ms - lifetime_ms).toBeLessThanOrEqual(now().getTime())
    })

    test.each([
      ['a fault', new Error('the process met a fault')],
      ['a dependency that is away', new PublicError(2002)],
      ['a fault of another service', new PublicError(2001)],
      ['a fault of the hub', new PublicError(2000)],
    ])('%s keeps the key and its ids, because nobody knows what was done', async (_what, fault) => {
      const tried: string[] = []
      const work = run(async (id) => {
        tried.push(await stepOnce(system, STEPS[0], id))
        throw fault
      })
      await expect(work).rejects.toBe(fault)
      await expect(mutate('another')).rejects.toEqual(CODE_1013)
      expect((await mutate()).split(' ')[0]).toBe(tried[0])
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('after a fault a refusal frees the key all the same', async () => {
      await expect(run(never)).rejects.toThrow('must not be done')
      await expect(refuse()).rejects.toBe(refusal)
      await mutate('another')
    })

    test.each(['earlier', 'later'])('the refusal of a caller spares the work of the %s one', async (who) => {
      const inside = Promise.withResolvers<void>()
      const outcome = Promise.withResolvers<void>()
      const waiting = run(async (id) => {
        inside.resolve()
        await outcome.promise
        if (who === 'later') throw refusal
        return mutation(system, id)
      })
      await inside.promise
      const joined = who === 'earlier' ? refuse() : mutate()
      if (who === 'earlier') await expect(joined).rejects.toBe(refusal)
      else await joined
      outcome.resolve()
      const result = await (who === 'earlier' ? waiting : joined)
      if (who === 'later') await expect(waiting).rejects.toBe(refusal)
      // The client that was refused asks again: it meets what was done, and does not do it a second time.
      expect(await run(never)).toBe(result)
      expect(await stepsDone()).toBe(STEPS.length)
    })

    test('when all callers were refused the key is free, whoever was first', async () => {
      const results = await Promise.allSettled(Array.from({ length: 10 }, () => refuse()))
      expect(results.every(({ status }) => status === 'rejected')).toBe(true)
      await mutate('another')
    })

    test('callers that come and go in any order never share a key with another payload', async () => {
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
      for (let round = 0; round < 5; round++) {
        await Promise.all(Array.from({ length: 12 }, (_, number) => visit(number)))
      }
    })

    test('a caller that died with the key holds it up for no longer than work can take', async () => {
      const clock = createManualClock(now().getTime())
      const restore = useClock(clock)
      try {
        const begun = Promise.withResolvers<void>()
        void run(() => {
          begun.resolve()
          return new Promise(() => {})
        })
        await begun.promise
        await expect(refuse()).rejects.toBe(refusal)
        await expect(mutate('another')).rejects.toEqual(CODE_1013)
        clock.stepWall(3_600_000)
        await expect(refuse()).rejects.toBe(refusal)
        await mutate('another')
      } finally {
        restore()
      }
    })

    test('ids are UUIDs of version 7 from the time of the first try, one for each label', async () => {
      const before = now().getTime()
      const labels = Array.from({ length: 200 }, (_, number) => `label ${number}`)
      const tries: string[][] = []
      const work = async (id: SeededId): Promise<Uint8Array> => {
        tries.push(labels.map(id))
        throw new Error('once more')
      }
      await expect(run(work)).rejects.toThrow('once more')
      await expect(run(work)).rejects.toThrow('once more')
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

    test.each(CRASH_POINTS)('killed at "%s": a second try completes it under the same ids', async (point) => {
      const job = JSON.stringify({ place: here, point })
      const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
      const [, signal] = await once(child, 'exit')
      expect(signal).toBe('SIGKILL')
      const left = await stepsDone()
      const key = keyNamed('crash')
      const result = await system.idempotency.run(key, 'hash', (id) =>
        point === 'complete' ? never() : mutation(system, id),
      )
      expect(left).toBe(Math.min(CRASH_POINTS.indexOf(point), STEPS.length))
      expect(await stepsDone()).toBe(STEPS.length)
      for (const step_id of Buffer.from(result).toString().split(' ')) {
        expect(await system.steps.get({ step_id })).toBeDefined()
      }
    })
  })
}

/** The milliseconds that a UUIDv7 begins with. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
