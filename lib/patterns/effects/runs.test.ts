import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createRunStore, type RunDocument, type Runs, startRuns } from './runs.ts'
import { WHOLE_SHARE } from './slots.ts'

let clock: InstalledClock
let running: Runs[]
beforeEach(() => {
  clock = installManualClock()
  running = []
})
afterEach(() => clock[Symbol.dispose]())

/** How a process reaches the store. */
interface Reach {
  is_cut_off: boolean
  /** While it is set the process is stopped, as by SIGSTOP: no call of it is sent. */
  held: Promise<void> | undefined
  /** While it is set its readings do not end. */
  slow_reading: Promise<void> | undefined
  /** What a former primary answers to its readings. */
  former_primary: readonly Stored<RunDocument>[] | undefined
}

/** The heartbeats of one role in a shared store, which a test makes fail. */
class Heartbeats {
  readonly documents = new Map<string, Stored<RunDocument>>()
  readonly calls: string[] = []
  is_down = false
  #versions = 0

  /** The store as one process reaches it. */
  reach({ is_alone = false } = {}) {
    const process: Reach = {
      is_cut_off: false,
      held: undefined,
      slow_reading: undefined,
      former_primary: undefined,
    }
    const call = async (name: string): Promise<void> => {
      this.calls.push(name)
      await process.held
      if (this.is_down || process.is_cut_off) throw new Error('no primary')
    }
    const put = (document: RunDocument): Stored<RunDocument> => {
      this.#versions += 1
      const stored = { ...document, version: this.#versions }
      this.documents.set(document.address, stored)
      return stored
    }
    const assertVersion = (address: unknown, version: number): void => {
      if (this.documents.get(String(address))?.version !== version) throw new Conflict('another version')
    }
    const collection: Collection<RunDocument> = {
      get: async ({ address }) => {
        await call('get')
        return this.documents.get(String(address))
      },
      find: async () => {
        await call('find')
        await process.slow_reading
        return [...(process.former_primary ?? this.documents.values())]
      },
      insert: async (document) => {
        await call('insert')
        return put(document)
      },
      replace: async (document, version) => {
        await call('replace')
        assertVersion(document.address, version)
        return put(document)
      },
      delete: async ({ address }, version) => {
        await call('delete')
        assertVersion(address, version)
        this.documents.delete(String(address))
      },
      count: () => Promise.reject(new Error('nothing is counted')),
    }
    const start = async (): Promise<Runs> => {
      const runs = await startRuns(createRunStore(collection, 'orders', { is_alone }), trustedClock)
      running.push(runs)
      return runs
    }
    return Object.assign(process, { start })
  }
}

describe('the runs in a shared store', () => {
  test('cost each process one write and one read per second', async () => {
    const store = new Heartbeats()
    await store.reach().start()
    store.calls.length = 0
    await clock.advance(10_000)
    expect(store.calls.filter((name) => name === 'replace')).toHaveLength(10)
    expect(store.calls.filter((name) => name === 'find')).toHaveLength(10)
    expect(store.calls).toHaveLength(20)
  })

  test('are different at each start', async () => {
    const process = new Heartbeats().reach()
    expect((await process.start()).run_id).not.toBe((await process.start()).run_id)
  })

  test('one is dead after five readings without a new heartbeat, not after four', async () => {
    const store = new Heartbeats()
    const [lost, reader] = [store.reach(), store.reach()]
    // Each second it writes before the other one reads.
    const [two, one] = [await lost.start(), await reader.start()]
    await clock.advance(2_000)
    lost.is_cut_off = true
    await clock.advance(4_000)
    expect(one.isDead(two.run_id)).toBe(false)
    await clock.advance(1_000)
    expect(one.isDead(two.run_id)).toBe(true)
    expect(one.dead()).toEqual([two.run_id])
    expect(one.live()).toEqual([one.run_id])
  })

  test('one that was declared dead stays dead, and its process goes on under a fresh run', async () => {
    const store = new Heartbeats()
    const [lost, reader] = [store.reach(), store.reach()]
    const [two, one] = [await lost.start(), await reader.start()]
    const first_run = two.run_id
    const lease = { token: 'of the first run', until: new Date(clock.now_ms() + 60_000), run: first_run }
    two.held.hold(lease)
    expect(two.mayAct(lease)).toBe(true)
    lost.is_cut_off = true
    await clock.advance(7_000)
    expect(two.run_id).toBe(first_run)
    lost.is_cut_off = false
    await clock.advance(1_000)
    expect(two.run_id).not.toBe(first_run)
    expect([two.mayAct(), two.mayAct(lease), two.held.hasAny()]).toEqual([true, false, false])
    expect(two.mayAct({ ...lease, run: two.run_id })).toBe(true)
    await clock.advance(10_000)
    for (const runs of [one, two]) {
      expect(runs.dead()).toEqual([first_run])
      expect([...runs.live()].sort()).toEqual([one.run_id, two.run_id].sort())
    }
  })

  test('one whose heartbeat comes before another process has declared it dead goes on', async () => {
    const store = new Heartbeats()
    const [lost, reader] = [store.reach(), store.reach()]
    const [two, one] = [await lost.start(), await reader.start()]
    const first_run = two.run_id
    await clock.advance(2_000)
    // The reader sees no heartbeat any more, but there are some.
    reader.former_primary = [...store.documents.values()]
    await clock.advance(20_000)
    expect([one.dead(), two.dead()]).toEqual([[], []])
    expect(two.run_id).toBe(first_run)
  })

  test('all processes find the same runs dead, whichever of them has counted', async () => {
    const store = new Heartbeats()
    const lost = store.reach()
    const two = await lost.start()
    const all = [await store.reach().start(), await store.reach().start(), await store.reach().start()]
    lost.is_cut_off = true
    await clock.advance(5_000)
    const late = await store.reach().start()
    await clock.advance(1_000)
    for (const runs of [...all, late]) expect(runs.dead()).toEqual([two.run_id])
  })

  test('a reading that hangs delays no heartbeat, and the next one is not counted', async () => {
    const store = new Heartbeats()
    const [lost, reader] = [store.reach(), store.reach()]
    const [two, one] = [await lost.start(), await reader.start()]
    const reading = Promise.withResolvers<void>()
    reader.slow_reading = reading.promise
    lost.is_cut_off = true
    store.calls.length = 0
    for (let second = 0; second < 8; second += 1) {
      await clock.advance(1_000)
      expect(one.mayAct()).toBe(true)
    }
    expect(store.calls.filter((name) => name === 'find')).toHaveLength(1)
    reader.slow_reading = undefined
    reading.resolve()
    await clock.advance(4_000)
    expect(one.isDead(two.run_id)).toBe(false)
    await clock.advance(2_000)
    expect(one.isDead(two.run_id)).toBe(true)
  })

  test('a run that stops in order is not dead: it has given back what it had', async () => {
    const store = new Heartbeats()
    const one = await store.reach().start()
    const two = await store.reach().start()
    await clock.advance(1_000)
    await two.stop()
    await clock.advance(10_000)
    expect(one.dead()).toEqual([])
    expect(store.documents.size).toBe(1)
  })

  test('a run that stops in order while it still has a lease is dead after five readings', async () => {
    const store = new Heartbeats()
    const one = await store.reach().start()
    const two = await store.reach().start()
    await clock.advance(1_000)
    two.held.hold({ token: 'unfinished', until: new Date(clock.now_ms() + 60_000) })
    await two.stop()
    await clock.advance(10_000)
    expect(one.dead()).toEqual([two.run_id])
  })

  test('a run that stops in order after its leases were given back or have ended is not dead', async () => {
    const store = new Heartbeats()
    const one = await store.reach().start()
    const two = await store.reach().start()
    const until = new Date(clock.now_ms() + 5_000)
    two.held.hold({ token: 'given back', until: new Date(clock.now_ms() + 60_000) })
    two.held.hold({ token: 'ended', until })
    two.held.giveBack({ token: 'given back', until })
    await clock.advance(6_000)
    await two.stop()
    await clock.advance(10_000)
    expect(one.dead()).toEqual([])
  })

  test('12 s without a primary kill nobody, and meanwhile nobody acts', async () => {
    const store = new Heartbeats()
    const all = [await store.reach().start(), await store.reach().start()]
    await clock.advance(2_000)
    store.is_down = true
    await clock.advance(2_000)
    expect(all.map((runs) => runs.mayAct())).toEqual([true, true])
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1_000)
      expect(all.flatMap((runs) => runs.dead())).toEqual([])
    }
    expect(all.map((runs) => runs.mayAct())).toEqual([false, false])
    store.is_down = false
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1_000)
      expect(all.flatMap((runs) => runs.dead())).toEqual([])
    }
    expect(all.map((runs) => runs.mayAct())).toEqual([true, true])
  })

  test('short outages one after the other kill nobody who is late to write again', async () => {
    const store = new Heartbeats()
    const late = store.reach()
    const one = await store.reach().start()
    await late.start()
    await clock.advance(2_000)
    for (let outage = 0; outage < 8; outage += 1) {
      store.is_down = true
      late.is_cut_off = true
      await clock.advance(2_000)
      store.is_down = false
      // Each time the reader reads first.
      await clock.advance(1_000)
    }
    expect(one.dead()).toEqual([])
  })

  test('a process stopped for 20 s is dead for the others, and acts under a fresh run after its heartbeat is confirmed', async () => {
    const store = new Heartbeats()
    const [reader, stopped] = [store.reach(), store.reach()]
    const [one, two] = [await reader.start(), await stopped.start()]
    const first_run = two.run_id
    const lease = { token: 'of the first run', until: new Date(clock.now_ms() + 60_000), run: first_run }
    await clock.advance(2_000)
    const stop = Promise.withResolvers<void>()
    stopped.held = stop.promise
    await clock.advance(20_000)
    expect(one.isDead(first_run)).toBe(true)
    expect(two.mayAct()).toBe(false)
    stopped.held = undefined
    stop.resolve()
    // The call that was under way began too long ago to prove anything.
    await clock.advance(0)
    expect(two.mayAct()).toBe(false)
    await clock.advance(1_000)
    expect([two.mayAct(), two.mayAct(lease), two.run_id === first_run]).toEqual([true, false, false])
  })

  test('one without room for some work gives it up with its next heartbeat, and gets it back when it has room', async () => {
    const store = new Heartbeats()
    const [one, two] = [await store.reach().start(), await store.reach().start()]
    let has_room = true
    const [oneInMoney, twoInMoney] = [
      one.divide('items.money', () => has_room),
      two.divide('items.money', () => true),
    ]
    const twoInEvents = two.divide('items.event', () => true)
    await clock.advance(2_000)
    const share = twoInMoney()
    expect([...oneInMoney().own, ...share.own].toSorted((a, b) => a - b)).toEqual(WHOLE_SHARE.own)
    expect(share.own).toHaveLength(32)
    has_room = false
    await clock.advance(2_000)
    expect(twoInMoney()).toEqual(WHOLE_SHARE)
    expect(oneInMoney().own).toEqual([])
    expect(twoInEvents().own).toHaveLength(32)
    has_room = true
    await clock.advance(2_000)
    expect(twoInMoney()).toEqual(share)
  })

  test('while no process has room, the work stays divided', async () => {
    const store = new Heartbeats()
    const [one, two] = [await store.reach().start(), await store.reach().start()]
    const shares = [one, two].map((runs) => runs.divide('items.money', () => false))
    await clock.advance(2_000)
    expect(shares.map((share) => share().own.length)).toEqual([32, 32])
  })

  test('the work of a dead process is divided among the others', async () => {
    const store = new Heartbeats()
    const lost = store.reach()
    const one = await store.reach().start()
    await lost.start()
    const share = one.divide('items.money', () => true)
    await clock.advance(2_000)
    expect(share().own).toHaveLength(32)
    lost.is_cut_off = true
    await clock.advance(7_000)
    expect(share()).toEqual(WHOLE_SHARE)
  })

  test.each([-5_000, 5_000])('a clock that is set by %d ms changes nothing', async (step_ms) => {
    const store = new Heartbeats()
    const one = await store.reach().start()
    await store.reach().start()
    await clock.advance(2_000)
    clock.stepWall(step_ms)
    await clock.advance(500)
    expect(one.mayAct()).toBe(true)
    await clock.advance(10_000)
    expect(one.dead()).toEqual([])
    expect(one.mayAct()).toBe(true)
  })
})

describe('a process that is alone with its files', () => {
  test('finds every earlier run dead at once, and none that comes later', async () => {
    const store = new Heartbeats()
    const earlier = store.reach()
    const killed = await earlier.start()
    earlier.is_cut_off = true
    const one = await store.reach({ is_alone: true }).start()
    expect([one.isDead(killed.run_id), one.isDead(one.run_id)]).toEqual([true, false])
    const later = await store.reach().start()
    await clock.advance(10_000)
    expect(one.dead()).toEqual([killed.run_id])
    expect(later.isDead(one.run_id)).toBe(false)
  })

  test('declares one dead that lives all the same, and that goes on under a fresh run', async () => {
    const store = new Heartbeats()
    const living = await store.reach().start()
    const first_run = living.run_id
    const one = await store.reach({ is_alone: true }).start()
    expect(one.isDead(first_run)).toBe(true)
    await clock.advance(2_000)
    expect(living.run_id).not.toBe(first_run)
    expect([one.isDead(first_run), one.isDead(living.run_id)]).toEqual([true, false])
  })
})
