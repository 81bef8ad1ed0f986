import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { Heartbeat } from '../membership/membership.ts'
import { type RunState, type RunStore, type Runs, startRuns } from './runs.ts'
import { WHOLE_SHARE } from './slots.ts'

let clock: InstalledClock
let running: Runs[]
beforeEach(() => {
  clock = installManualClock()
  running = []
})
afterEach(() => clock[Symbol.dispose]())

/** The heartbeats of one role in a shared store, which a test makes fail. */
class Heartbeats {
  readonly documents = new Map<string, Heartbeat<RunState>>()
  readonly calls: string[] = []
  is_down = false

  /** The store as one process reaches it. While it is `held`, the process is stopped, as by SIGSTOP: no call of it ends. */
  reach({ is_alone = false } = {}) {
    const process = { is_cut_off: false, held: undefined as Promise<void> | undefined }
    const call = async (name: string): Promise<void> => {
      this.calls.push(name)
      await process.held
      if (this.is_down || process.is_cut_off) throw new Error('no primary')
    }
    const members: RunStore['members'] = {
      beat: async (address, state) => {
        await call('beat')
        const version = (this.documents.get(address)?.version ?? 0) + 1
        this.documents.set(address, { ...state, version })
        return version
      },
      remove: async (address) => {
        await call('remove')
        this.documents.delete(address)
      },
      list: async () => {
        await call('list')
        return new Map(this.documents)
      },
    }
    const start = async (): Promise<Runs> => {
      const runs = await startRuns({ members, is_alone })
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
    expect(store.calls.filter((name) => name === 'beat')).toHaveLength(10)
    expect(store.calls.filter((name) => name === 'list')).toHaveLength(10)
    expect(store.calls).toHaveLength(20)
  })

  test('are different at each start', async () => {
    const process = new Heartbeats().reach()
    expect((await process.start()).run_id).not.toBe((await process.start()).run_id)
  })

  test('one is dead after five readings without a new heartbeat, not after four, and lives again with the next one', async () => {
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
    lost.is_cut_off = false
    await clock.advance(2_000)
    expect(one.isDead(two.run_id)).toBe(false)
    expect(one.dead()).toEqual([])
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

  test('a process stopped for 20 s is dead for the others, and does not act before its heartbeat is confirmed again', async () => {
    const store = new Heartbeats()
    const [reader, stopped] = [store.reach(), store.reach()]
    const [one, two] = [await reader.start(), await stopped.start()]
    await clock.advance(2_000)
    const stop = Promise.withResolvers<void>()
    stopped.held = stop.promise
    await clock.advance(20_000)
    expect(one.isDead(two.run_id)).toBe(true)
    expect(two.mayAct()).toBe(false)
    stopped.held = undefined
    stop.resolve()
    // The call that was under way began too long ago to prove anything.
    await clock.advance(0)
    expect(two.mayAct()).toBe(false)
    await clock.advance(1_000)
    expect(two.mayAct()).toBe(true)
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

  test('sees at its next reading that one lives all the same', async () => {
    const store = new Heartbeats()
    const living = await store.reach().start()
    const one = await store.reach({ is_alone: true }).start()
    expect(one.isDead(living.run_id)).toBe(true)
    await clock.advance(2_000)
    expect(one.isDead(living.run_id)).toBe(false)
  })
})
