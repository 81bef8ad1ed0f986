import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { useRandomness } from '#lib/platform/crypto/random.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock, type ManualClock, settled } from '../../test/support/manual-clock.ts'
import { type Instance, leaseNumericIds } from './numeric-id-lease.ts'
import { openPaymentsStore } from './store/payments-store.ts'

let directory: string
let opened: Store
let instances: Collection<Instance>
let clock: ManualClock
const asked = new Set<Promise<unknown>>()
const restores: (() => void)[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-instances-'))
  opened = await openStore({ database: 'payments', directory })
  instances = watched((await openPaymentsStore(opened)).instances)
  clock = createManualClock()
  restores.push(useClock(clock))
})

afterEach(async () => {
  for (const restore of restores.splice(0)) restore()
  await opened.close()
  await rm(directory, { recursive: true, force: true })
})

/** The number of the process in an id. */
const numberOf = (id: string): string => id.slice(10, 14)

/** Lets chance draw so few different numbers that processes meet; always the same one for a single `byte`. */
function fewNumbers(...bytes: readonly number[]): void {
  const draw = (target: Uint8Array): void => {
    for (let at = 0; at < target.length; at++) target[at] = bytes[randomInt(bytes.length)] ?? 0
  }
  restores.push(useRandomness(draw))
}

/** The collection, with what is asked of it in `asked` until it has answered. */
function watched(collection: Collection<Instance>): Collection<Instance> {
  const watch = <T>(answer: Promise<T>): Promise<T> => {
    asked.add(answer)
    void Promise.allSettled([answer]).then(() => asked.delete(answer))
    return answer
  }
  return {
    ...collection,
    get: (key) => watch(collection.get(key)),
    insert: (document) => watch(collection.insert(document)),
    replace: (document, expected_version) => watch(collection.replace(document, expected_version)),
  }
}

/** A minute in which the store takes no time: the clock moves on when everything it was asked has been answered. */
async function minute(): Promise<void> {
  for (let step = 0; step < 12; step++) {
    await clock.advance(5_000)
    while (asked.size > 0) {
      await Promise.allSettled(asked)
      await settled()
    }
  }
}

describe('the number of a process', () => {
  test('stands in each of its 18-digit ids, which never repeat', async () => {
    const ids = await leaseNumericIds(instances)
    const given = Array.from({ length: 25_000 }, () => ids.next())
    expect(new Set(given).size).toBe(given.length)
    expect(given.every((id) => /^[1-9][0-9]{17}$/.test(id))).toBe(true)
    expect(new Set(given.map(numberOf)).size).toBe(1)
    expect([...given].sort()).toEqual(given)
    await ids.stop()
  })

  test('is held by one process at a time, also when they reach for the same ones at once', async () => {
    fewNumbers(0, 255)
    const all = await Promise.all(Array.from({ length: 4 }, () => leaseNumericIds(instances)))
    expect(new Set(all.map((ids) => numberOf(ids.next()))).size).toBe(4)
    for (const ids of all) await ids.stop()
  })

  test('is kept for as long as the process lives', async () => {
    const ids = await leaseNumericIds(instances)
    const number = numberOf(ids.next())
    for (let time = 0; time < 4; time++) await minute()
    expect(numberOf(ids.next())).toBe(number)
    await ids.stop()
  })

  test('is refused when the store was away for too long to renew it', async () => {
    const away: Collection<Instance> = {
      ...instances,
      replace: async () => {
        throw new Unavailable('away')
      },
    }
    const ids = await leaseNumericIds(away)
    ids.next()
    await minute()
    expect(() => ids.next()).toThrow(Unavailable)
    await ids.stop()
  })

  test('is another one after somebody else took it', async () => {
    const ids = await leaseNumericIds(instances)
    const number = Number(numberOf(ids.next()))
    const lease = await instances.get({ number })
    if (!lease) throw new Error('the lease is not there')
    await instances.replace({ ...lease, owner: 'another' }, lease.version)
    await minute()
    expect(numberOf(ids.next())).not.toBe(String(number).padStart(4, '0'))
    expect(await instances.get({ number })).toMatchObject({ owner: 'another' })
    await ids.stop()
  })

  test('is not used after it was given back, nor taken by another within a minute', async () => {
    fewNumbers(7)
    const ids = await leaseNumericIds(instances)
    const number = numberOf(ids.next())
    await ids.stop()
    expect(() => ids.next()).toThrow(Unavailable)
    await expect(leaseNumericIds(instances)).rejects.toThrow('instance numbers was free')
    await clock.advance(61_000)
    const next = await leaseNumericIds(instances)
    expect(numberOf(next.next())).toBe(number)
    await next.stop()
  })
})
