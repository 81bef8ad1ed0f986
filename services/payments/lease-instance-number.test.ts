import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useRandomness } from '#lib/base/crypto/random.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { createSwitchedClockGuard, trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { type InstalledClock, installManualClock, settled } from '../../test/support/manual-clock.ts'
import { leaseInstanceNumber } from './lease-instance-number.ts'
import { type InstanceNumberLease, openSealedStore } from './store/payments-store.ts'

let directory: string
let opened: Store
let leases: Collection<InstanceNumberLease>
let clock: InstalledClock
/** The calls of the store that have not ended. */
const open_calls = new Set<Promise<unknown>>()
const restores: (() => void)[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-numeric-ids-'))
  opened = await openStore({ database: 'payments', directory, timeout_ms: HANG_LIMIT_MS })
  leases = watched((await openSealedStore(opened)).instance_number_leases)
  clock = installManualClock()
})

afterEach(async () => {
  for (const restore of restores.splice(0)) restore()
  clock[Symbol.dispose]()
  await opened.close()
  await rm(directory, { recursive: true, force: true })
})

/** The instance number in an id. */
const numberOf = (id: string): string => id.slice(10, 14)

/** Makes randomness return only these bytes, so that processes draw the same numbers; a single byte gives one number. */
function fewNumbers(...bytes: readonly number[]): void {
  const draw = (target: Uint8Array): void => {
    for (let at = 0; at < target.length; at += 1) target[at] = bytes[randomInt(bytes.length)] ?? 0
  }
  restores.push(useRandomness(draw))
}

/** The collection, with each call in `open_calls` until it has ended. */
function watched(collection: Collection<InstanceNumberLease>): Collection<InstanceNumberLease> {
  const watch = <T>(call: Promise<T>): Promise<T> => {
    open_calls.add(call)
    void Promise.allSettled([call]).then(() => open_calls.delete(call))
    return call
  }
  return {
    ...collection,
    get: (key) => watch(collection.get(key)),
    insert: (document) => watch(collection.insert(document)),
    replace: (document, expected_version) => watch(collection.replace(document, expected_version)),
  }
}

/** Advances the clock by a minute, and waits for all calls of the store after each step. */
async function passMinute(): Promise<void> {
  for (let step = 0; step < 12; step += 1) {
    await clock.advance(5_000)
    while (open_calls.size > 0) {
      await Promise.allSettled(open_calls)
      await settled()
    }
  }
}

describe('the leased instance number', () => {
  // P1
  test('is part of each 18-digit id, and ids never repeat', async () => {
    const ids = await leaseInstanceNumber(leases, trustedClock)
    const given = Array.from({ length: 25_000 }, () => ids.next())
    expect(new Set(given).size).toBe(given.length)
    expect(given.every((id) => /^[1-9][0-9]{17}$/.test(id))).toBe(true)
    expect(new Set(given.map(numberOf)).size).toBe(1)
    expect([...given].sort()).toEqual(given)
    await ids.stop()
  })

  test('belongs to one process at a time, also when several lease at once', async () => {
    fewNumbers(0, 255)
    const all = await Promise.all(Array.from({ length: 4 }, () => leaseInstanceNumber(leases, trustedClock)))
    expect(new Set(all.map((ids) => numberOf(ids.next()))).size).toBe(4)
    for (const ids of all) await ids.stop()
  })

  test('is renewed while the process lives', async () => {
    const ids = await leaseInstanceNumber(leases, trustedClock)
    const number = numberOf(ids.next())
    for (let time = 0; time < 4; time += 1) await passMinute()
    expect(numberOf(ids.next())).toBe(number)
    await ids.stop()
  })

  test('cannot be used after the store was unavailable for the whole lease', async () => {
    const unavailable: Collection<InstanceNumberLease> = {
      ...leases,
      replace: async () => {
        throw new Unavailable('store unavailable')
      },
    }
    const ids = await leaseInstanceNumber(unavailable, trustedClock)
    ids.next()
    await passMinute()
    expect(() => ids.next()).toThrow(Unavailable)
    await ids.stop()
  })

  test('cannot be used after the machine was suspended for longer than the lease', async () => {
    const ids = await leaseInstanceNumber(leases, trustedClock)
    ids.next()
    // The monotonic clock stops while a machine is suspended. Afterwards the wall clock is right again.
    clock.stepWall(61_000)
    expect(() => ids.next()).toThrow(Unavailable)
    await passMinute()
    expect(() => ids.next()).not.toThrow()
    await ids.stop()
  })

  test('is replaced when another process has taken it', async () => {
    const ids = await leaseInstanceNumber(leases, trustedClock)
    const number = Number(numberOf(ids.next()))
    const lease = await leases.get({ instance_number: number })
    if (!lease) throw new Error('the lease does not exist')
    await leases.replace({ ...lease, holder: 'another' }, lease.version)
    await passMinute()
    expect(numberOf(ids.next())).not.toBe(String(number).padStart(4, '0'))
    expect(await leases.get({ instance_number: number })).toMatchObject({ holder: 'another' })
    await ids.stop()
  })

  test('cannot be used after its release, nor leased by another process within a minute', async () => {
    fewNumbers(7)
    const ids = await leaseInstanceNumber(leases, trustedClock)
    const number = numberOf(ids.next())
    await ids.stop()
    expect(() => ids.next()).toThrow(Unavailable)
    await expect(leaseInstanceNumber(leases, trustedClock)).rejects.toThrow('no free instance number')
    await clock.advance(61_000)
    const next = await leaseInstanceNumber(leases, trustedClock)
    expect(numberOf(next.next())).toBe(number)
    await next.stop()
  })

  test('is neither leased, renewed nor used while the clock is wrong', async () => {
    fewNumbers(7)
    const guard = createSwitchedClockGuard()
    const first = await leaseInstanceNumber(leases, guard)
    const number = numberOf(first.next())
    const [before] = await leases.find('key', { equals: [Number(number)] }, { limit: 1 })
    guard.setTrusted(false)
    expect(() => first.next()).toThrow(Unavailable)
    // To a clock that is ahead the lease of the other process looks expired.
    clock.stepWall(3_600_000)
    const second = await leaseInstanceNumber(leases, guard)
    await passMinute()
    expect(() => second.next()).toThrow(Unavailable)
    expect(await leases.get({ instance_number: Number(number) })).toEqual(before)
    await second.stop()
    clock.stepWall(-3_600_000)
    guard.setTrusted(true)
    await passMinute()
    expect(numberOf(first.next())).toBe(number)
    await first.stop()
  })
})
