import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createSwitchedClockGuard } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { Heartbeats } from './runs.fixture.ts'
import { WHOLE_ASSIGNMENT } from './slots.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

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

  test('a run that was declared dead stays dead, and its process goes on under a fresh run', async () => {
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

  test('many that died together are declared dead one after the other, on the connection of the heartbeat', async () => {
    const store = new Heartbeats()
    const lost = Array.from({ length: 15 }, () => store.reach())
    const one = await store.reach().start()
    for (const process of lost) {
      const runs = await process.start()
      process.is_cut_off = true
      await runs.stop()
    }
    store.replacing = { now: 0, most: 0 }
    await clock.advance(8_000)
    expect(one.dead()).toHaveLength(15)
    expect(store.replacing.most).toBe(1)
  })

  test('a process whose machine was suspended may not act before its next heartbeat is confirmed', async () => {
    const store = new Heartbeats()
    const suspended = store.reach()
    const one = await suspended.start()
    const lease = { token: 'before', until: new Date(clock.now_ms() + 60_000), run: one.run_id }
    await clock.advance(2_500)
    const sending = Promise.withResolvers<void>()
    suspended.held = sending.promise
    // The monotonic clock stood still meanwhile, so neither timers nor durations show it.
    clock.stepWall(20_000)
    expect([one.mayAct(), one.mayAct(lease)]).toEqual([false, false])
    await clock.advance(1_000)
    expect(one.mayAct()).toBe(false)
    suspended.held = undefined
    sending.resolve()
    await clock.advance(0)
    expect([one.mayAct(), one.mayAct(lease)]).toEqual([true, true])
  })

  test('a heartbeat that was on its way while the machine was suspended proves nothing', async () => {
    const store = new Heartbeats()
    const suspended = store.reach()
    const one = await suspended.start()
    const sending = Promise.withResolvers<void>()
    suspended.held = sending.promise
    await clock.advance(1_000)
    clock.stepWall(20_000)
    suspended.held = undefined
    sending.resolve()
    await clock.advance(0)
    expect(one.mayAct()).toBe(false)
    await clock.advance(1_000)
    expect(one.mayAct()).toBe(true)
  })

  test('a clock that was set back makes no heartbeat younger', async () => {
    const process = new Heartbeats().reach()
    const one = await process.start()
    process.is_cut_off = true
    clock.stepWall(-5_000)
    await clock.advance(3_000)
    expect(one.mayAct()).toBe(false)
  })

  test('a process whose clock is not trusted may not act', async () => {
    const guard = createSwitchedClockGuard()
    const one = await new Heartbeats().reach().start(guard)
    for (const is_trusted of [true, false, true]) {
      guard.setTrusted(is_trusted)
      expect(one.mayAct()).toBe(is_trusted)
    }
  })

  test('one is found dead although each reading takes longer than the pause between heartbeats', async () => {
    const store = new Heartbeats()
    const [lost, reader] = [store.reach(), store.reach()]
    const [two, one] = [await lost.start(), await reader.start()]
    lost.is_cut_off = true
    for (let count = 0; count < 7; count += 1) {
      const reading = Promise.withResolvers<void>()
      reader.slow_reading = reading.promise
      await clock.advance(2_000)
      reading.resolve()
    }
    expect(one.isDead(two.run_id)).toBe(true)
    expect(one.mayAct()).toBe(true)
  })

  test('a reading that hangs delays no heartbeat, and counts once', async () => {
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
    await clock.advance(3_000)
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
    const slots = twoInMoney()
    expect([...oneInMoney().own, ...slots.own].toSorted((a, b) => a - b)).toEqual(WHOLE_ASSIGNMENT.own)
    expect(slots.own).toHaveLength(32)
    has_room = false
    await clock.advance(2_000)
    expect(twoInMoney()).toEqual(WHOLE_ASSIGNMENT)
    expect(oneInMoney().own).toEqual([])
    expect(twoInEvents().own).toHaveLength(32)
    has_room = true
    await clock.advance(2_000)
    expect(twoInMoney()).toEqual(slots)
  })

  test('while no process has room, the work stays divided', async () => {
    const store = new Heartbeats()
    const [one, two] = [await store.reach().start(), await store.reach().start()]
    const divided = [one, two].map((runs) => runs.divide('items.money', () => false))
    await clock.advance(2_000)
    expect(divided.map((slots) => slots().own.length)).toEqual([32, 32])
  })

  test('the work of a dead process is divided among the others', async () => {
    const store = new Heartbeats()
    const lost = store.reach()
    const one = await store.reach().start()
    await lost.start()
    const slots = one.divide('items.money', () => true)
    await clock.advance(2_000)
    expect(slots().own).toHaveLength(32)
    lost.is_cut_off = true
    await clock.advance(7_000)
    expect(slots()).toEqual(WHOLE_ASSIGNMENT)
  })

  test.each([-5_000, 5_000])(
    'a clock set by %d ms kills nobody, and forwards costs a heartbeat',
    async (step_ms) => {
      const store = new Heartbeats()
      const one = await store.reach().start()
      await store.reach().start()
      await clock.advance(2_500)
      clock.stepWall(step_ms)
      expect(one.mayAct()).toBe(step_ms < 0)
      await clock.advance(500)
      expect(one.mayAct()).toBe(true)
      await clock.advance(10_000)
      expect(one.dead()).toEqual([])
      expect(one.mayAct()).toBe(true)
    },
  )
})

describe('a process that is alone with its files', () => {
  test('finds every earlier run dead at once, and none that comes later', async () => {
    const store = new Heartbeats()
    const earlier = store.reach()
    const killed = await earlier.start()
    earlier.is_cut_off = true
    const one = await store.reach({ isAlone: () => true }).start()
    expect([one.isDead(killed.run_id), one.isDead(one.run_id)]).toEqual([true, false])
    const later = await store.reach().start()
    await clock.advance(10_000)
    expect(one.dead()).toEqual([killed.run_id])
    expect(later.isDead(one.run_id)).toBe(false)
  })

  test('finds no run dead of a process that opened them before its first reading', async () => {
    const store = new Heartbeats()
    let is_alone = true
    const first = store.reach({ isAlone: () => is_alone })
    first.is_cut_off = true
    const one = await first.start()
    is_alone = false
    await store.reach().start()
    first.is_cut_off = false
    await clock.advance(2_000)
    expect([one.mayAct(), one.dead()]).toEqual([true, []])
  })

  test('declares one dead that lives all the same, and that goes on under a fresh run', async () => {
    const store = new Heartbeats()
    const living = await store.reach().start()
    const first_run = living.run_id
    const one = await store.reach({ isAlone: () => true }).start()
    expect(one.isDead(first_run)).toBe(true)
    await clock.advance(2_000)
    expect(living.run_id).not.toBe(first_run)
    expect([one.isDead(first_run), one.isDead(living.run_id)]).toEqual([true, false])
  })
})
