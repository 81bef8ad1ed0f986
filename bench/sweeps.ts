import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock, sleep } from '#lib/base/time.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import { EFFECT_INDEXES, type EffectDocument, withDueTimes } from '#lib/patterns/effects/effect.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createRunStore, type RunDocument, startRuns } from '#lib/patterns/effects/runs.ts'
import { slotOf } from '#lib/patterns/effects/slots.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { Conflict } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { trustedClock } from '../test/support/clock-guard.ts'
import type { BenchResult } from './result.ts'

/** What waits after an outage of 10 minutes at 500 effects per second. */
const EFFECTS = 300_000
const OUTAGE_MS = 600_000
const INSERTS_AT_ONCE = 2_000
const PROCESSES = [1, 5, 20]
/** Longer than two heartbeats: all processes know each other before the measurement begins. */
const JOIN_MS = 2_500

interface Item extends EffectDocument {
  readonly item_id: string
}

const creditEffect = defineEffect({
  kind: 'credit',
  lane: 'money',
  data: {},
  id: ({ item_id }: Pick<Item, 'item_id'>) => `${item_id}:credit`,
})

/**
 * `sweeps`: how long 1, 5 and 20 processes take for the 300,000 effects that an outage of 10 minutes at 500 per second leaves,
 * and what they read and lose meanwhile. All of them run in this process on one embedded store, so the times only show that more
 * processes do not hinder each other. An effect does nothing: it costs the write of its lease and the write of its outcome.
 */
export async function run(): Promise<BenchResult[]> {
  // The timers of a role keep no process alive.
  const alive = setInterval(() => {}, OUTAGE_MS)
  const results: BenchResult[] = []
  for (const processes of PROCESSES) results.push(...(await drain(processes)))
  clearInterval(alive)
  return results
}

async function drain(processes: number): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-sweeps-'))
  const store = await openStore({ database: 'items', directory })
  try {
    const items = await store.collection<Item>({
      name: 'items',
      partition: ['item_id'],
      key: ['item_id'],
      indexes: EFFECT_INDEXES,
    })
    await leaveBacklog(items)
    const { collection, counts } = watched(items)
    const system = await startProcesses(store, collection, processes)
    const began_ms = clock.monotonic_ms()
    system.start()
    await system.all_done
    const seconds = (clock.monotonic_ms() - began_ms) / 1_000
    await system.stop()
    const name = `sweeps.outage of 10 minutes, ${processes} ${processes === 1 ? 'process' : 'processes'}`
    return [
      { name: `${name}, time`, unit: 's', ours: seconds },
      { name: `${name}, effects`, unit: 'per second', ours: EFFECTS / seconds },
      {
        name: `${name}, conflicts`,
        unit: 'per effect',
        ours: counts.conflicts / EFFECTS,
        goal: { at_most: 0.2 },
      },
      {
        name: `${name}, documents read`,
        unit: 'per effect',
        ours: counts.documents / EFFECTS,
        goal: { at_most: 1.5 },
      },
    ]
  } finally {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Stores the effects as a crash leaves them, with the due times of the outage. */
async function leaveBacklog(items: Collection<Item>): Promise<void> {
  const began_ms = clock.now_ms() - OUTAGE_MS
  for (let first = 0; first < EFFECTS; first += INSERTS_AT_ONCE) {
    const count = Math.min(INSERTS_AT_ONCE, EFFECTS - first)
    await Promise.all(
      Array.from({ length: count }, (_, number) => {
        const key = { item_id: `item-${first + number}` }
        const at = new Date(began_ms + ((first + number) * OUTAGE_MS) / EFFECTS)
        const effects = [creditEffect.newEffect(key, {}, { at })]
        return items.insert(withDueTimes({ ...key, slot: slotOf(key), effects }, at))
      }),
    )
  }
}

/** The collection, with the documents that all processes read and the writes that they lose. */
function watched(items: Collection<Item>) {
  const counts = { documents: 0, conflicts: 0 }
  const collection: Collection<Item> = {
    ...items,
    async find(...call) {
      const found = await items.find(...call)
      counts.documents += found.length
      return found
    },
    async get(...call) {
      counts.documents += 1
      return await items.get(...call)
    },
    async replace(...call) {
      try {
        return await items.replace(...call)
      } catch (error) {
        if (error instanceof Conflict) counts.conflicts += 1
        throw error
      }
    },
  }
  return { collection, counts }
}

/** Starts the runs of the processes, which know each other then, and makes their runners. */
async function startProcesses(store: Store, collection: Collection<Item>, processes: number) {
  const { promise: all_done, resolve } = Promise.withResolvers<void>()
  let done = 0
  const members = await store.collection<RunDocument>(MEMBERS_SPEC)
  const started = await Promise.all(
    Array.from({ length: processes }, async () => {
      const runs = await startRuns(createRunStore(members, 'items', { isAlone: () => false }), trustedClock)
      const credit = creditEffect.bind<Item>({
        lease_ms: 60_000,
        tries_max: 3,
        budget: createBudget(Number.POSITIVE_INFINITY),
        async run() {
          return (current) => {
            done += 1
            if (done === EFFECTS) resolve()
            return current
          }
        },
      })
      const keyOf = ({ item_id }: Item) => ({ item_id })
      const effects = [credit]
      const runner = createEffectRunner({
        name: 'items',
        collection,
        keyOf,
        effects,
        clock_guard: trustedClock,
        runs,
      })
      return { runs, runner }
    }),
  )
  await sleep(JOIN_MS)
  return {
    all_done,
    start() {
      for (const { runner } of started) runner.start()
    },
    async stop() {
      await Promise.all(started.map(({ runner }) => runner.stop()))
      await Promise.all(started.map(({ runs }) => runs.stop()))
    },
  }
}
