import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openStore } from '#lib/platform/store/open.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { EFFECT_INDEXES, type EffectDocument, effect } from './effect.ts'
import { createEffectRunner, type EffectHandler } from './runner.ts'

interface Thing extends EffectDocument {
  readonly thing_id: string
}

let directory: string
let store: Store
let things: Collection<Thing>

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-runner-'))
  store = await openStore({ database: 'things', directory })
  const key = ['thing_id']
  things = await store.collection<Thing>({ name: 'things', partition: key, key, indexes: EFFECT_INDEXES })
})
afterEach(async () => {
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

function runnerOf(handlers: Readonly<Record<string, EffectHandler<Thing>>>, collection = things) {
  return createEffectRunner<Thing>({
    collection,
    keyOf: ({ thing_id }) => ({ thing_id }),
    handlers,
    sweep_ms: 10,
  })
}

function thing(thing_id: string, kind: string, ago_ms = 0): Thing {
  const at = new Date(now().getTime() - ago_ms)
  const due = effect({ id: `${thing_id}:${kind}`, kind, lane: 'timer' }, at)
  return { thing_id, effects: [due], effects_due_at: at }
}

const done: EffectHandler<Thing> = { lease_ms: 1_000, tries_max: 3, run: async () => (current) => current }

test('work that nobody here knows hides no other work, however much of it is due', async () => {
  const strangers = Array.from({ length: 700 }, (_, number) => thing(`strange-${number}`, 'strange', 60_000))
  await Promise.all(strangers.map((one) => things.insert(one)))
  await things.insert(thing('known', 'known'))
  const runner = runnerOf({ known: done })
  runner.start()
  await eventually(
    () => things.get({ thing_id: 'known' }),
    (seen) => seen?.effects.length === 0,
  )
  await runner.stop()
  expect(await things.get({ thing_id: 'strange-0' })).toMatchObject({ effects: [{ tries: 0 }] })
})

test('room for one takes one, however many are due', async () => {
  for (let number = 0; number < 50; number++) {
    const { effects, thing_id } = thing(`${number}`, 'told')
    const events = effects.map((one) => ({ ...one, lane: 'event' as const }))
    await things.insert({ thing_id, effects: events, events_due_at: now() })
  }
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const told: EffectHandler<Thing> = {
    ...done,
    lease_ms: 60_000,
    capacity: () => 1 - begun,
    async run() {
      begun += 1
      await gate.promise
      return (current) => current
    },
  }
  const runner = runnerOf({ told })
  runner.start()
  await eventually(
    async () => begun,
    (count) => count === 1,
  )
  gate.resolve()
  await runner.stop()
  expect(begun).toBe(1)
})

test('a stop waits for the look that is under way, so that the store can be closed after it', async () => {
  const looking = Promise.withResolvers<void>()
  const found = Promise.withResolvers<void>()
  const slow: Collection<Thing> = {
    ...things,
    async find(...range) {
      looking.resolve()
      await found.promise
      return things.find(...range)
    },
  }
  const runner = runnerOf({ known: done }, slow)
  runner.start()
  await looking.promise
  let stopped = false
  const stop = runner.stop().then(() => {
    stopped = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(stopped).toBe(false)
  found.resolve()
  await stop
})

test('after a stop nothing is claimed any more, and what was due waits for the next process', async () => {
  const runner = runnerOf({ known: done })
  await runner.stop()
  const stored = await runner.insert(thing('late', 'known'))
  expect(await runner.drive(stored)).toMatchObject({ effects: [{ tries: 0 }] })
  const next = runnerOf({ known: done })
  next.start()
  await eventually(
    () => things.get({ thing_id: 'late' }),
    (seen) => seen?.effects.length === 0,
  )
  await next.stop()
})

test("an effect whose lease ran out is another's: the late outcome of the first changes nothing", async () => {
  const first_acts = Promise.withResolvers<void>()
  const slow: EffectHandler<Thing> = {
    ...done,
    lease_ms: 30,
    async run() {
      await first_acts.promise
      return (current) => ({ ...current, thing_id: current.thing_id, by: 'first' })
    },
  }
  const runner = runnerOf({ known: slow })
  const driven = runner.drive(await runner.insert(thing('one', 'known')))
  const other = runnerOf({
    known: { ...done, run: async () => (current) => ({ ...current, by: 'second' }) },
  })
  other.start()
  await eventually(
    () => things.get({ thing_id: 'one' }),
    (seen) => seen?.effects.length === 0,
  )
  first_acts.resolve()
  await driven
  expect(await things.get({ thing_id: 'one' })).toMatchObject({ by: 'second' })
  await Promise.all([runner.stop(), other.stop()])
})
