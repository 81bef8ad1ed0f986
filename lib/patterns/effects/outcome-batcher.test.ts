import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { type Effect, effect, type Lane } from './effect.ts'
import { type Acted, type InHand, takeInHand } from './outcome-batcher.ts'

interface Note {
  readonly words: readonly string[]
}

const LEASE_MS = 5_000

let clock: ManualClock
let restore: () => void
/** Each write: the version that it was upon, and what it left. */
let writes: { upon: number; words: readonly string[] }[]
let in_hand: InHand<Note>

beforeEach(() => {
  clock = createManualClock()
  restore = useClock(clock)
  writes = []
  in_hand = takeInHand<Note>({ words: [], version: 1 }, async ({ version, ...note }, acted) => {
    const { words } = acted.reduce((next: Note, { apply }) => apply(next), note)
    writes.push({ upon: version, words })
    return { words, version: version + 1 }
  })
})
afterEach(() => restore())

function leased(id: string, lane: Lane): Effect {
  const at = new Date(clock.now_ms())
  const lease = { token: id, until: new Date(at.getTime() + LEASE_MS) }
  return { ...effect({ id, kind: 'say', lane }, at), lease }
}

function said(one: Effect): Acted<Note> {
  return { effect: one, apply: ({ words }) => ({ words: [...words, one.id] }) }
}

test('outcomes are written one after another, each upon the one before', async () => {
  const [first, second] = [leased('first', 'timer'), leased('second', 'timer')]
  for (const one of [first, second]) in_hand.begin(one)
  await in_hand.finish(said(first))
  expect(await in_hand.finish(said(second))).toEqual({ words: ['first', 'second'], version: 3 })
  expect(writes.map(({ upon }) => upon)).toEqual([1, 2])
})

test('an event leaves with the write of the effect that acts beside it', async () => {
  const [call, event] = [leased('call', 'timer'), leased('event', 'event')]
  for (const one of [call, event]) in_hand.begin(one)
  const told = in_hand.finish(said(event))
  await clock.advance(LEASE_MS / 2 - 1)
  expect(writes).toEqual([])
  const called = await in_hand.finish(said(call))
  in_hand.end(call)
  expect(await told).toEqual(called)
  expect(writes).toEqual([{ upon: 1, words: ['event', 'call'] }])
})

test('an event whose companion takes long is written alone before its lease runs out', async () => {
  const [call, event] = [leased('call', 'timer'), leased('event', 'event')]
  for (const one of [call, event]) in_hand.begin(one)
  const told = in_hand.finish(said(event))
  await clock.advance(LEASE_MS / 2)
  await told
  await in_hand.finish(said(call))
  expect(writes.map(({ words }) => words)).toEqual([['event'], ['event', 'call']])
})

test('events of one document leave together, also the one whose companion has only brought forth another', async () => {
  const [call, first, second] = [leased('call', 'timer'), leased('first', 'event'), leased('second', 'event')]
  for (const one of [call, first]) in_hand.begin(one)
  await in_hand.finish(said(call))
  const told = in_hand.finish(said(first))
  in_hand.begin(second)
  in_hand.end(call)
  await clock.advance(1)
  expect(writes.map(({ words }) => words)).toEqual([['call']])
  await in_hand.finish(said(second))
  await told
  expect(writes.map(({ words }) => words)).toEqual([['call'], ['call', 'first', 'second']])
})

test('a write that failed holds up nothing that comes later', async () => {
  let failing = true
  const other = takeInHand<Note>({ words: [], version: 1 }, async (newest) => {
    if (failing) throw new Error('the store is away')
    return newest
  })
  const [first, second] = [leased('first', 'timer'), leased('second', 'timer')]
  for (const one of [first, second]) other.begin(one)
  await expect(other.finish(said(first))).rejects.toThrow('the store is away')
  failing = false
  expect(await other.finish(said(second))).toEqual({ words: [], version: 1 })
})
