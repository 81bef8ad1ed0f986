import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ReceiveEventResponseSchema } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { type BoundEffect, defineEffect } from '#lib/patterns/effects/define-effect.ts'
import { withDueTimes } from '#lib/patterns/effects/effect.ts'
import { createPublisher } from '#lib/patterns/effects/publisher.ts'
import {
  type CrashPoint,
  chargeEffect,
  type EffectsSystem,
  newOrder,
  newOrderOfLanes,
  type Order,
  type OrderHandler,
  openEffectsSystem,
  reportEffect,
  type StoreLocation,
  shipEffect,
} from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'

const CHILD = join(import.meta.dirname, '..', 'support', 'effects-child.ts')
const ORDERS = 3

/** Where the child is killed: the point, and the effects that it has reached then. `order` is the document itself. */
const CRASHES: readonly (readonly [CrashPoint, ...string[]])[] = [
  ['inserted', 'order'],
  ['before act', 'charge', 'ship', 'report'],
  ['after act', 'charge', 'ship', 'report'],
  ['after outcome', 'order'],
  ['never', 'order'],
]

/** A child that was killed: the location of its store, and the signal or exit code of its end. */
interface KilledChild {
  readonly store_location: StoreLocation
  readonly end: NodeJS.Signals | number | null
}

/** Starts a child that kills itself at this point, and resolves when it has ended. */
async function runChild(
  store_location: StoreLocation,
  point: CrashPoint,
  effect_suffix: string,
  lease_ms?: number,
): Promise<KilledChild> {
  const job = JSON.stringify({ store_location, point, effect_suffix, orders: ORDERS, lease_ms })
  const child = spawn(process.execPath, [CHILD, job], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  return { store_location, end: signal ?? code }
}

/** The suite for effects, which must pass on every store. `newStoreLocation` returns the location of an empty store. */
export function effectsSuite(name: string, newStoreLocation: () => Promise<StoreLocation>): void {
  describe(`effects on ${name}`, () => {
    let store_location: StoreLocation
    let open: EffectsSystem[] = []
    beforeEach(async () => {
      store_location = await newStoreLocation()
    })
    afterEach(async () => {
      for (const system of open) await system.close()
      open = []
    })
    const openSystem = async (
      effects: readonly BoundEffect<Order>[] = [],
      lease_ms?: number,
    ): Promise<EffectsSystem> => {
      const opened = await openEffectsSystem(store_location, () => {}, effects, lease_ms)
      open.push(opened)
      return opened
    }
    const orderOf = (order_id: string) => open[0]?.orders.get({ order_id })
    const untilDone = (order_id: string) =>
      eventually(
        () => orderOf(order_id),
        (order) => order?.effects.length === 0,
      )

    test('money effects run in order, and the event waits for the effect that it names', async () => {
      const { runner } = await openSystem()
      const order = await runner.runEffects(await runner.insert(newOrder('one')))
      expect(order.done.slice(0, 2)).toEqual(['charge', 'ship'])
      const ended = await untilDone('one')
      expect(ended?.done).toEqual(['charge', 'ship', 'report'])
      expect(ended).not.toHaveProperty('effects_due_at')
    })

    test('effects of an order that was stored without a slot run in each lane', async () => {
      const { orders, runner } = await openSystem()
      await orders.insert(withDueTimes(newOrderOfLanes('old'), now()))
      runner.start()
      const ended = await untilDone('old')
      expect(ended?.slot).toEqual(expect.any(Number))
    })

    describe.each(CRASHES)('after a crash at "%s"', (point, ...suffixes) => {
      // The children of all effects run at once, and their leases expire at once.
      let children: readonly KilledChild[]
      beforeAll(async () => {
        children = await Promise.all(
          suffixes.map(async (suffix) => runChild(await newStoreLocation(), point, suffix)),
        )
      })

      test.each(suffixes)('of %s each effect happens exactly once', async (suffix) => {
        const child = children[suffixes.indexOf(suffix)]
        if (!child) throw new Error('no child was started')
        expect(child.end).toBe(point === 'never' ? 0 : 'SIGKILL')
        store_location = child.store_location
        const { runner, orders, acts } = await openSystem()
        runner.start()
        for (let number = 0; number < ORDERS; number += 1) {
          const order_id = `order-${number}`
          const stored = await orders.get({ order_id })
          if (!stored) continue
          const ended = await untilDone(order_id)
          expect(ended?.done).toEqual(['charge', 'ship', 'report'])
          for (const kind of ended?.done ?? []) {
            expect(await acts.get({ act_id: `${order_id}:${kind}` })).toMatchObject({ times: 1 })
          }
        }
        expect(await orders.get({ order_id: 'order-0' })).toBeDefined()
      })
    })

    test('the effects of a process that was killed go on long before its leases end', async () => {
      const leases_ms = 600_000
      const { end } = await runChild(store_location, 'before act', 'ship', leases_ms)
      expect(end).toBe('SIGKILL')
      const { runner, acts } = await openSystem([], leases_ms)
      const killed = await orderOf('order-0')
      runner.start()
      const ended = await untilDone('order-0')
      expect(ended?.done).toEqual(['charge', 'ship', 'report'])
      expect(await acts.get({ act_id: 'order-0:ship' })).toMatchObject({ times: 1 })
      const lease = killed?.effects.find(({ kind }) => kind === 'ship')?.lease
      expect(lease?.until.getTime()).toBeGreaterThan(now().getTime() + leases_ms / 2)
    })

    test('two runners on the same documents run each effect once', async () => {
      const runs = new Map<string, number>()
      const counting: OrderHandler = {
        lease_ms: 30_000,
        tries_max: 5,
        async run({ id, kind }) {
          runs.set(id, (runs.get(id) ?? 0) + 1)
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      }
      const effects = [chargeEffect, shipEffect, reportEffect].map((definition) => definition.bind(counting))
      // The writer has no room for the first effect of an order, so it runs nothing itself.
      const writer = await openSystem([chargeEffect.bind({ ...counting, budget: createBudget(0) })])
      for (let number = 0; number < 40; number += 1) await writer.runner.insert(newOrder(`order-${number}`))
      const [left, right] = [await openSystem(effects), await openSystem(effects)]
      left.runner.start()
      right.runner.start()
      for (let number = 0; number < 40; number += 1) await untilDone(`order-${number}`)
      expect(runs.size).toBe(120)
      expect([...runs.values()].every((times) => times === 1)).toBe(true)
    })

    test('an effect that always fails is stuck after its tries and blocks only what depends on it', async () => {
      let failing = true
      const failing_ship = shipEffect.bind<Order>({
        lease_ms: 1_000,
        tries_max: 3,
        backoff: { first_ms: 10, max_ms: 10 },
        async run({ kind }) {
          if (failing) throw new Error('always')
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      })
      const { runner, orders } = await openSystem([failing_ship])
      const order = newOrder('bad')
      const independent = { ...reportEffect.newEffect(order, {}, { at: now() }), id: 'bad:independent' }
      runner.start()
      await runner.runEffects(await runner.insert({ ...order, effects: [...order.effects, independent] }))
      const stuck = await eventually(
        () => orderOf('bad'),
        (current) => current?.stuck_at !== undefined,
      )
      expect(stuck?.effects.map(({ id, stuck, tries }) => ({ id, stuck, tries }))).toEqual([
        { id: 'bad:ship', stuck: true, tries: 3 },
        { id: 'bad:report', stuck: undefined, tries: 0 },
      ])
      expect(stuck?.done).toEqual(expect.arrayContaining(['charge', 'report']))
      expect(await orders.find('by_stuck', {}, { limit: 10 })).toHaveLength(1)
      failing = false
      await runner.retry({ order_id: 'bad' }, 'bad:ship')
      expect(await untilDone('bad')).not.toHaveProperty('stuck_at')
    })

    test('an effect of an unknown kind is kept until a runner that knows the kind runs it', async () => {
      const audit = defineEffect({
        kind: 'audit',
        lane: 'independent',
        data: {},
        id: ({ order_id }: Order) => `${order_id}:audit`,
      })
      const { runner } = await openSystem()
      runner.start()
      const order = newOrder('new')
      const effects = [...order.effects, audit.newEffect(order, {}, { at: now() })]
      await runner.runEffects(await runner.insert({ ...order, effects }))
      const left = await eventually(
        () => orderOf('new'),
        (current) => current?.effects.length === 1,
      )
      expect(left?.effects[0]).toMatchObject({ id: 'new:audit', tries: 0 })
      const newer = await openSystem([
        audit.bind<Order>({ lease_ms: 1_000, tries_max: 1, run: async () => (current) => current }),
      ])
      newer.runner.start()
      await untilDone('new')
    })

    test('without bus and notifier money effects run and one event per second is tried; with them all events end', async () => {
      const [bus, keys] = [createMemoryBus(), testKeys()]
      let is_there = false
      const calls: string[] = []
      const notifier = {
        async receiveEvent({ event = new Uint8Array() }: { readonly event?: Uint8Array }) {
          calls.push(Buffer.from(event).toString())
          if (!is_there) throw new PublicError(2002)
          return create(ReceiveEventResponseSchema)
        },
      }
      const publisher = await createPublisher({
        bus: { ...bus, isConnected: () => false },
        notifier,
        event_signer: keys.event_payments,
        receipt_signer: keys.receipt,
        bus_auth: 'require',
      })
      const publishReport = reportEffect.bind<Order>({
        lease_ms: 5_000,
        tries_max: 1_000,
        backoff: { first_ms: 50, max_ms: 50 },
        budget: publisher.budget,
        async run({ id, kind }) {
          await publisher.publish('events.order', id, Buffer.from(id))
          return (order) => ({ ...order, done: [...order.done, kind] })
        },
      })
      const { runner } = await openSystem([publishReport])
      runner.start()
      const order_ids = Array.from({ length: 60 }, (_, number) => `order-${number}`)
      const placeOrder = async (order_id: string): Promise<void> => {
        const order = await runner.runEffects(await runner.insert(newOrder(order_id)))
        expect(order.done).toEqual(['charge', 'ship'])
      }
      await placeOrder('first')
      await eventually(
        async () => calls.length,
        (length = 0) => length > 0,
      )
      const began_ms = performance.now()
      for (const order_id of order_ids) await placeOrder(order_id)
      await eventually(
        async () => calls.length,
        (length = 0) => length >= 3,
      )
      const elapsed_s = (performance.now() - began_ms) / 1_000
      // One before, and the first one of the time measured.
      expect(calls.length).toBeLessThanOrEqual(Math.floor(elapsed_s) + 2)
      is_there = true
      for (const order_id of order_ids) await untilDone(order_id)
      await runner.stop()
      await publisher.close()
      await bus.close()
    })
  })
}
