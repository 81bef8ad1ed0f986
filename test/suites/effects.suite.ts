import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { effect } from '#lib/patterns/effects/effect.ts'
import {
  createPublisher,
  createReceiptSender,
  EVENT_KEY,
  RECEIPT_TO,
} from '#lib/patterns/effects/publisher.ts'
import type { EffectHandler } from '#lib/patterns/effects/runner.ts'
import { createMemoryBus } from '#lib/platform/bus/memory.ts'
import { now } from '#lib/platform/time.ts'
import {
  type CrashPoint,
  type EffectsSystem,
  newOrder,
  type Order,
  openEffectsSystem,
  type Place,
} from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'

const CHILD = join(import.meta.dirname, '..', 'support', 'effects-child.ts')
const ORDERS = 3

/** Where the child dies, and at which effects. */
const DEATHS: readonly (readonly [CrashPoint, ...string[]])[] = [
  ['inserted', 'order'],
  ['before act', 'charge', 'ship', 'tell'],
  ['after act', 'charge', 'ship', 'tell'],
  ['after outcome', 'order'],
  ['never', 'order'],
]

/** What effects promise, on any store. `place` gives somewhere empty. */
export function effectsContract(name: string, place: () => Promise<Place>): void {
  describe(`effects on ${name}`, () => {
    let here: Place
    let open: EffectsSystem[] = []
    beforeEach(async () => {
      here = await place()
    })
    afterEach(async () => {
      for (const { runner } of open) await runner.stop()
      for (const { store } of open) await store.close()
      open = []
    })
    const system = async (
      kinds: Readonly<Record<string, EffectHandler<Order>>> = {},
    ): Promise<EffectsSystem> => {
      const opened = await openEffectsSystem(here, () => {}, kinds)
      open.push(opened)
      return opened
    }
    const orderOf = (order_id: string) => open[0]?.orders.get({ order_id })

    test('money goes in order, and the event waits for the effect that it names', async () => {
      const { runner } = await system()
      const driven = await runner.drive(await runner.insert(newOrder('one')))
      expect(driven.done.slice(0, 2)).toEqual(['charge', 'ship'])
      const ended = await eventually(
        () => orderOf('one'),
        (order) => order?.effects.length === 0,
      )
      expect(ended?.done).toEqual(['charge', 'ship', 'tell'])
      expect(ended).not.toHaveProperty('effects_due_at')
    })

    for (const [point, ...suffixes] of DEATHS) {
      for (const effect_suffix of suffixes) {
        test(`killed at "${point}" of ${effect_suffix}: everything happens, and nothing twice`, async () => {
          const job = JSON.stringify({ place: here, point, effect_suffix, orders: ORDERS })
          const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
          const [code, signal] = await once(child, 'exit')
          expect(signal ?? code).toBe(point === 'never' ? 0 : 'SIGKILL')
          const { runner, orders, acts } = await system()
          runner.start()
          for (let number = 0; number < ORDERS; number++) {
            const order_id = `order-${number}`
            const stored = await orders.get({ order_id })
            if (!stored) continue
            const ended = await eventually(
              () => orderOf(order_id),
              (order) => order?.effects.length === 0,
            )
            expect(ended?.done).toEqual(['charge', 'ship', 'tell'])
            for (const kind of ended?.done ?? []) {
              expect(await acts.get({ act_id: `${order_id}:${kind}` })).toMatchObject({ times: 1 })
            }
          }
          expect(await orders.get({ order_id: 'order-0' })).toBeDefined()
        })
      }
    }

    test('two runners on the same documents do each effect once', async () => {
      const runs = new Map<string, number>()
      const counted: EffectHandler<Order> = {
        lease_ms: 30_000,
        tries_max: 5,
        async run({ id, kind }) {
          runs.set(id, (runs.get(id) ?? 0) + 1)
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      }
      const kinds = { charge: counted, ship: counted, tell: counted }
      const writer = await system({ charge: { ...counted, capacity: () => 0 } })
      for (let number = 0; number < 40; number++) await writer.runner.insert(newOrder(`order-${number}`))
      const [left, right] = [await system(kinds), await system(kinds)]
      left.runner.start()
      right.runner.start()
      for (let number = 0; number < 40; number++) {
        await eventually(
          () => orderOf(`order-${number}`),
          (order) => order?.effects.length === 0,
        )
      }
      expect(runs.size).toBe(120)
      expect([...runs.values()].every((times) => times === 1)).toBe(true)
    })

    test('a poisoned effect is stuck after its tries, blocks what depends on it and nothing else', async () => {
      let poisoned = true
      const poison: EffectHandler<Order> = {
        lease_ms: 1_000,
        tries_max: 3,
        backoff: { first_ms: 10, max_ms: 10 },
        async run({ kind }) {
          if (poisoned) throw new Error('poison')
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      }
      const { runner, orders } = await system({ ship: poison })
      const bad = newOrder('bad')
      const free = effect({ id: 'bad:free', kind: 'tell', lane: 'event' }, now())
      runner.start()
      await runner.drive(await runner.insert({ ...bad, effects: [...bad.effects, free] }))
      const stuck = await eventually(
        () => orderOf('bad'),
        (order) => order?.stuck_at !== undefined,
      )
      expect(stuck?.effects.map(({ id, stuck, tries }) => ({ id, stuck, tries }))).toEqual([
        { id: 'bad:ship', stuck: true, tries: 3 },
        { id: 'bad:tell', stuck: undefined, tries: 0 },
      ])
      expect(stuck?.done).toEqual(expect.arrayContaining(['charge', 'tell']))
      expect(await orders.find('by_stuck', {}, { limit: 10 })).toHaveLength(1)
      poisoned = false
      await runner.retry({ order_id: 'bad' }, 'bad:ship')
      const ended = await eventually(
        () => orderOf('bad'),
        (order) => order?.effects.length === 0,
      )
      expect(ended).not.toHaveProperty('stuck_at')
    })

    test('a kind that the runner does not know is kept, and run by one that does', async () => {
      const { runner } = await system()
      const strange = effect({ id: 'new:strange', kind: 'strange', lane: 'timer' }, now())
      runner.start()
      const order = newOrder('new')
      await runner.drive(await runner.insert({ ...order, effects: [...order.effects, strange] }))
      const left = await eventually(
        () => orderOf('new'),
        (current) => current?.effects.length === 1,
      )
      expect(left?.effects[0]).toMatchObject({ id: 'new:strange', tries: 0 })
      const newer = await system({
        strange: { lease_ms: 1_000, tries_max: 1, run: async () => (current) => current },
      })
      newer.runner.start()
      await eventually(
        () => orderOf('new'),
        (current) => current?.effects.length === 0,
      )
    })

    test('without a consumer the money moves on, one event a second probes, and all arrive when it comes', async () => {
      const bus = createMemoryBus()
      const publisher = await createPublisher(bus)
      const published: string[] = []
      const watching = await bus.subscribe(
        'events.>',
        ({ headers }) => void published.push(headers[EVENT_KEY] ?? ''),
      )
      const tell: EffectHandler<Order> = {
        lease_ms: 5_000,
        tries_max: 1_000,
        backoff: { first_ms: 50, max_ms: 50 },
        capacity: publisher.capacity,
        async run({ id, kind }) {
          await publisher.publish('events.order', id, Buffer.from(id))
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      }
      const { runner } = await system({ tell })
      runner.start()
      const names = Array.from({ length: 60 }, (_, number) => `order-${number}`)
      const first = await runner.drive(await runner.insert(newOrder('order-0')))
      expect(first.done).toEqual(['charge', 'ship'])
      await eventually(
        async () => publisher.capacity(),
        (capacity = 0) => capacity <= 1,
      )
      for (const name of names.slice(1)) {
        const driven = await runner.drive(await runner.insert(newOrder(name)))
        expect(driven.done).toEqual(['charge', 'ship'])
      }
      const before = published.length
      await eventually(
        async () => published.length,
        (length = 0) => length >= before + 2,
      )
      expect(published.length).toBeLessThan(30)
      const receipts = createReceiptSender(bus)
      const consumer = await bus.subscribe('events.>', ({ headers }) => {
        receipts.send(headers[RECEIPT_TO] ?? '', headers[EVENT_KEY] ?? '')
      })
      for (const name of names)
        await eventually(
          () => orderOf(name),
          (order) => order?.effects.length === 0,
        )
      await Promise.all([watching.close(), consumer.close()])
      await runner.stop()
      await publisher.close()
      await bus.close()
    })
  })
}
