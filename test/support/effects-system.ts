import { EFFECT_INDEXES, type EffectDocument, effect } from '#lib/patterns/effects/effect.ts'
import { createEffectRunner, type EffectHandler, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'

/** A small aggregate: an order that is to be charged, then shipped, and told of. */
export interface Order extends EffectDocument {
  readonly order_id: string
  readonly done: readonly string[]
}

/** A remote system that does everything once by its key: what it did is a document. */
export interface Act {
  readonly act_id: string
  readonly times: number
}

/** Where the system under test keeps its state. */
export interface Place {
  readonly database: string
  readonly directory?: string
  readonly mongodb_uri?: string
}

/** The places at which a process of the tests can die. */
export type CrashPoint = 'inserted' | 'before act' | 'after act' | 'after outcome' | 'never'

/** Opened state with a runner. */
export interface EffectsSystem {
  readonly store: Store
  readonly orders: Collection<Order>
  readonly acts: Collection<Act>
  readonly runner: EffectRunner<Order>
}

/** Opens the state and builds a runner whose acts call `at` before and after they happen. */
export async function openEffectsSystem(
  place: Place,
  at: (point: CrashPoint, effect_id: string) => void = () => {},
  kinds: Readonly<Record<string, EffectHandler<Order>>> = {},
  lease_ms = 1_000,
): Promise<EffectsSystem> {
  const { database, directory, mongodb_uri } = place
  const uri = mongodb_uri === undefined ? undefined : new Secret(mongodb_uri)
  const store = await openStore({ database, directory, mongodb_uri: uri })
  const orders = await store.collection<Order>({
    name: 'orders',
    partition: ['order_id'],
    key: ['order_id'],
    indexes: EFFECT_INDEXES,
  })
  const acts = await store.collection<Act>({ name: 'acts', partition: ['act_id'], key: ['act_id'] })
  const act: EffectHandler<Order> = {
    lease_ms,
    tries_max: 20,
    backoff: { first_ms: 20, max_ms: 20 },
    async run({ id, kind }) {
      at('before act', id)
      await actOnce(acts, id)
      at('after act', id)
      return (order) => ({ ...order, done: [...order.done, kind] })
    },
  }
  const runner = createEffectRunner<Order>({
    collection: orders,
    keyOf: ({ order_id }) => ({ order_id }),
    handlers: { charge: act, ship: act, tell: act, ...kinds },
    sweep_ms: 50,
  })
  return { store, orders, acts, runner }
}

async function actOnce(acts: Collection<Act>, act_id: string): Promise<void> {
  try {
    await acts.insert({ act_id, times: 1 })
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error
  }
}

/** A new order with all that must follow it: two money effects in order, and an event that waits for the second. */
export function newOrder(order_id: string): Order {
  const at = now()
  return {
    order_id,
    done: [],
    effects: [
      effect({ id: `${order_id}:charge`, kind: 'charge', lane: 'money' }, at),
      effect({ id: `${order_id}:ship`, kind: 'ship', lane: 'money' }, at),
      effect({ id: `${order_id}:tell`, kind: 'tell', lane: 'event', after: `${order_id}:ship` }, at),
    ],
  }
}
