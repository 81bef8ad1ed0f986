import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import {
  type BoundEffect,
  defineEffect,
  type EffectDefinition,
  type EffectHandler,
} from '#lib/patterns/effects/define-effect.ts'
import { EFFECT_INDEXES, type EffectDocument } from '#lib/patterns/effects/effect.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { createRunStore, type RunDocument, type Runs, startRuns } from '#lib/patterns/effects/runs.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { Duplicate } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { trustedClock } from './clock-guard.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'

/** A small document with effects: an order that is charged, then shipped, then reported. */
export interface Order extends EffectDocument {
  readonly order_id: string
  /** The kinds of the effects that have run, in order. */
  readonly done: readonly string[]
}

/** One act of a remote system that acts once per key. */
export interface Act {
  readonly act_id: string
  readonly times: number
}

/** Where the system under test keeps its documents. */
export interface StoreLocation {
  readonly database: string
  readonly directory?: string
  readonly mongodb_uri?: string
}

/** The points at which a process of the tests can kill itself. */
export type CrashPoint = 'inserted' | 'before act' | 'after act' | 'after outcome' | 'never'

/** An open store with a runner. */
export interface EffectsSystem {
  readonly store: Store
  readonly orders: Collection<Order>
  readonly acts: Collection<Act>
  readonly runs: Runs
  readonly runner: EffectRunner<Order>
  /** Stops the runner as a process that stops in order does, and closes the store. */
  close(): Promise<void>
}

/** An effect of orders without data. */
export type OrderEffect = EffectDefinition<Pick<Order, 'order_id'>, object>

/** How to run an effect of orders. */
export type OrderHandler = EffectHandler<Order, object>

/** The first money effect of an order. */
export const chargeEffect: OrderEffect = defineEffect({
  kind: 'charge',
  lane: 'money',
  data: {},
  id: orderEffectId('charge'),
})

/** The second money effect. */
export const shipEffect: OrderEffect = defineEffect({
  kind: 'ship',
  lane: 'money',
  data: {},
  id: orderEffectId('ship'),
})

/** The event of an order, which waits for the shipment. */
export const reportEffect: OrderEffect = defineEffect({
  kind: 'report',
  lane: 'event',
  data: {},
  id: orderEffectId('report'),
})

/** Effects of an order in the two other lanes, which wait for nothing. */
const confirmEffect: OrderEffect = defineEffect({
  kind: 'confirm',
  lane: 'independent',
  data: {},
  id: orderEffectId('confirm'),
})
const notifyEffect: OrderEffect = defineEffect({
  kind: 'notify',
  lane: 'external',
  data: {},
  id: orderEffectId('notify'),
})

function orderEffectId(kind: string): (order: Pick<Order, 'order_id'>) => string {
  return ({ order_id }) => `${order_id}:${kind}`
}

/**
 * Opens the store and makes a runner whose acts call `at` before and after they happen. `effects` replaces effects of
 * the same kind or adds others. `begin` is awaited before each act.
 */
export async function openEffectsSystem(
  store_location: StoreLocation,
  at: (point: CrashPoint, effect_id: string) => void = () => {},
  effects: readonly BoundEffect<Order>[] = [],
  lease_ms = 1_000,
  begin: (effect_id: string) => Promise<void> = async () => {},
): Promise<EffectsSystem> {
  const { database, directory, mongodb_uri } = store_location
  const uri = mongodb_uri === undefined ? undefined : new Secret(mongodb_uri)
  const store = await openStore({ database, directory, mongodb_uri: uri, timeout_ms: HANG_LIMIT_MS })
  const orders = await store.collection<Order>({
    name: 'orders',
    partition: ['order_id'],
    key: ['order_id'],
    indexes: EFFECT_INDEXES,
  })
  const acts = await store.collection<Act>({ name: 'acts', partition: ['act_id'], key: ['act_id'] })
  const runs = await startRuns(
    createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'orders', store),
    trustedClock,
  )
  const handler: OrderHandler = {
    lease_ms,
    tries_max: 20,
    backoff: { first_ms: 20, max_ms: 20 },
    budget: createBudget(1_000),
    async run({ id, kind }) {
      await begin(id)
      at('before act', id)
      await actOnce(acts, id)
      at('after act', id)
      return (order) => ({ ...order, done: [...order.done, kind] })
    },
  }
  const ordinary = [chargeEffect, shipEffect, reportEffect, confirmEffect, notifyEffect].map((definition) =>
    definition.bind<Order>(handler),
  )
  const replaced = new Set(effects.map(({ kind }) => kind))
  const runner = createEffectRunner<Order>({
    name: 'orders',
    collection: orders,
    clock_guard: trustedClock,
    runs,
    keyOf: ({ order_id }) => ({ order_id }),
    effects: [...ordinary.filter(({ kind }) => !replaced.has(kind)), ...effects],
    sweep_ms: 50,
  })
  const close = async (): Promise<void> => {
    await runner.stop()
    await runs.stop()
    await store.close()
  }
  return { store, orders, acts, runs, runner, close }
}

async function actOnce(acts: Collection<Act>, act_id: string): Promise<void> {
  try {
    await acts.insert({ act_id, times: 1 })
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error
  }
}

/** A new order with its effects: two money effects in order, and an event that waits for the second. */
export function newOrder(order_id: string): Order {
  const at = now()
  const shipping = shipEffect.newEffect({ order_id }, {}, { at })
  const effects = [
    chargeEffect.newEffect({ order_id }, {}, { at }),
    shipping,
    reportEffect.newEffect({ order_id }, {}, { at, after: shipping.id }),
  ]
  return { order_id, done: [], effects }
}

/** A new order with one effect in each lane, none of which waits for another. */
export function newOrderOfLanes(order_id: string): Order {
  const at = now()
  const kinds = [chargeEffect, confirmEffect, notifyEffect, reportEffect]
  return { order_id, done: [], effects: kinds.map((kind) => kind.newEffect({ order_id }, {}, { at })) }
}
