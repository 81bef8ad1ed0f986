import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import type { ClockGuard } from '../clock-guard.ts'
import { type BoundEffect, defineEffect, type EffectDefinition, type EffectHandler } from './define-effect.ts'
import { EFFECT_INDEXES, type EffectDocument, type Lane, withDueTimes } from './effect.ts'
import { createEffectRunner, type EffectRunner } from './runner.ts'
import type { Runs } from './runs.ts'
import { slotOf } from './slots.ts'

/** The smallest document with effects. */
export interface Item extends EffectDocument {
  readonly item_id: string
}

/** A kind of effect of items. */
export type ItemEffect = EffectDefinition<Pick<Item, 'item_id'>, object>

/** Items in an embedded store of their own. */
export interface ItemsFixture extends AsyncDisposable {
  readonly items: Collection<Item>
  /** Makes a runner that sweeps every 10 ms. */
  runner(
    effects: readonly BoundEffect<Item>[],
    collection?: Collection<Item>,
    clock_guard?: ClockGuard,
    runs?: Runs,
  ): EffectRunner<Item>
  /** Stores `count` items with one effect each, which has been due for `due_since_ms`, as a crash leaves them. */
  store(count: number, effect: ItemEffect, due_since_ms: number): Promise<void>
  /** Waits until the item has no effect left. */
  untilDone(item_id: string): Promise<unknown>
}

/** A handler that changes nothing. */
export const idleHandler: EffectHandler<Item, object> = {
  lease_ms: 1_000,
  tries_max: 3,
  run: async () => (current) => current,
}

/** Defines a kind of effect without data. */
export function defineKind(kind: string, lane: Lane): ItemEffect {
  return defineEffect({
    kind,
    lane,
    data: {},
    id: ({ item_id }: Pick<Item, 'item_id'>) => `${item_id}:${kind}`,
  })
}

/** An item with one effect, which has been due for `due_since_ms`. */
export function itemWith(item_id: string, { newEffect }: ItemEffect, due_since_ms = 0): Item {
  const at = new Date(now().getTime() - due_since_ms)
  return withDueTimes(
    { item_id, slot: slotOf({ item_id }), effects: [newEffect({ item_id }, {}, { at })] },
    at,
  )
}

/** Opens items for each test of the calling file. The returned function gives those of the running test. */
export function openItemsForEachTest(): () => ItemsFixture {
  let fixture: ItemsFixture
  beforeEach(async () => {
    fixture = await openItems()
  })
  afterEach(async () => {
    await fixture[Symbol.asyncDispose]()
  })
  return () => fixture
}

/** Opens the items in a new directory, which is deleted on disposal. */
async function openItems(): Promise<ItemsFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-items-'))
  const store = await openStore({ database: 'items', directory, timeout_ms: HANG_LIMIT_MS })
  const key = ['item_id']
  const items = await store.collection<Item>({ name: 'items', partition: key, key, indexes: EFFECT_INDEXES })
  return {
    items,
    runner(effects, collection = items, clock_guard = trustedClock, runs = lastingRun) {
      const keyOf = ({ item_id }: Item) => ({ item_id })
      return createEffectRunner<Item>({
        name: 'items',
        collection,
        clock_guard,
        runs,
        keyOf,
        effects,
        sweep_ms: 10,
      })
    },
    async store(count, effect, due_since_ms) {
      const due = Array.from({ length: count }, (_, number) =>
        itemWith(`${effect.kind}-${number}`, effect, due_since_ms),
      )
      await Promise.all(due.map((item) => items.insert(item)))
    },
    untilDone: (item_id) =>
      eventually(
        () => items.get({ item_id }),
        (item) => item?.effects.length === 0,
      ),
    async [Symbol.asyncDispose]() {
      await store.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
