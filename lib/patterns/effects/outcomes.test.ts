import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { fromConnectError, toConnectError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createEffect, type Effect, type Lane } from './effect.ts'
import { createOutcomeBatcher, type EffectOutcome, type OutcomeBatcher, recordFailure } from './outcomes.ts'

interface Note {
  readonly words: readonly string[]
}

const LEASE_MS = 5_000

let clock: InstalledClock
/** Each write: the version that it replaced, and the words after it. */
let writes: { replaced: number; words: readonly string[] }[]
let batcher: OutcomeBatcher<Note>

beforeEach(() => {
  clock = installManualClock()
  writes = []
  batcher = createOutcomeBatcher<Note>({ words: [], version: 1 }, async ({ version, ...note }, outcomes) => {
    const { words } = outcomes.reduce((next: Note, { apply }) => apply(next), note)
    writes.push({ replaced: version, words })
    return { words, version: version + 1 }
  })
})
afterEach(() => clock[Symbol.dispose]())

function leased(id: string, lane: Lane): Effect {
  const at = new Date(clock.now_ms())
  const lease = { token: id, until: new Date(at.getTime() + LEASE_MS) }
  return { ...createEffect({ id, kind: 'write', lane }, at), lease }
}

/** The outcome that adds the effect's id to the words. */
function outcomeOf(effect: Effect): EffectOutcome<Note> {
  return { effect, repeats: false, apply: ({ words }) => ({ words: [...words, effect.id] }) }
}

test('writes outcomes one after another, each on the version of the last write', async () => {
  const [first, second] = [leased('first', 'independent'), leased('second', 'independent')]
  for (const effect of [first, second]) batcher.begin(effect)
  await batcher.finish(outcomeOf(first))
  expect(await batcher.finish(outcomeOf(second))).toEqual({ words: ['first', 'second'], version: 3 })
  expect(writes.map(({ replaced }) => replaced)).toEqual([1, 2])
})

test('writes the outcome of an event together with that of an effect that runs at the same time', async () => {
  const [call, event] = [leased('call', 'independent'), leased('event', 'event')]
  for (const effect of [call, event]) batcher.begin(effect)
  const event_written = batcher.finish(outcomeOf(event))
  await clock.advance(LEASE_MS / 2 - 1)
  expect(writes).toEqual([])
  const call_written = await batcher.finish(outcomeOf(call))
  batcher.end(call)
  expect(await event_written).toEqual(call_written)
  expect(writes).toEqual([{ replaced: 1, words: ['event', 'call'] }])
})

test('writes the outcome of an event alone after half of its lease when another effect takes long', async () => {
  const [call, event] = [leased('call', 'independent'), leased('event', 'event')]
  for (const effect of [call, event]) batcher.begin(effect)
  const event_written = batcher.finish(outcomeOf(event))
  await clock.advance(LEASE_MS / 2)
  await event_written
  await batcher.finish(outcomeOf(call))
  expect(writes.map(({ words }) => words)).toEqual([['event'], ['event', 'call']])
})

test('writes the outcomes of events together, also of one that another effect has just added', async () => {
  const [call, first, second] = [
    leased('call', 'independent'),
    leased('first', 'event'),
    leased('second', 'event'),
  ]
  for (const effect of [call, first]) batcher.begin(effect)
  await batcher.finish(outcomeOf(call))
  const first_written = batcher.finish(outcomeOf(first))
  batcher.begin(second)
  batcher.end(call)
  await clock.advance(1)
  expect(writes.map(({ words }) => words)).toEqual([['call']])
  await batcher.finish(outcomeOf(second))
  await first_written
  expect(writes.map(({ words }) => words)).toEqual([['call'], ['call', 'first', 'second']])
})

test('continues with later outcomes after a failed write', async () => {
  let failing = true
  const other = createOutcomeBatcher<Note>({ words: [], version: 1 }, async (newest) => {
    if (failing) throw new Error('store unavailable')
    return newest
  })
  const [first, second] = [leased('first', 'independent'), leased('second', 'independent')]
  for (const effect of [first, second]) other.begin(effect)
  await expect(other.finish(outcomeOf(first))).rejects.toThrow('store unavailable')
  failing = false
  expect(await other.finish(outcomeOf(second))).toEqual({ words: [], version: 1 })
})

test('reports a failed joint write to each of its outcomes', async () => {
  const other = createOutcomeBatcher<Note>({ words: [], version: 1 }, async () => {
    throw new Error('store unavailable')
  })
  const effects = [leased('event', 'event'), leased('call', 'independent'), leased('poll', 'independent')]
  for (const effect of effects) other.begin(effect)
  const finished = Promise.allSettled(effects.map((effect) => other.finish(outcomeOf(effect))))
  await clock.advance(LEASE_MS)
  expect((await finished).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
})

const answered = (error: Error) => fromConnectError(toConnectError(error))
const answeredWith = (code: number) =>
  fromConnectError(
    new ConnectError('text', Code.FailedPrecondition, undefined, [
      { desc: ErrorDetailSchema, value: { code } },
    ]),
  )

// One line per failed thing, in the process that met the failure.
test.each([
  [
    'a role that answers that it lacks its database, because it has logged that',
    answered(new Unavailable('no database')),
    0,
  ],
  ['a fault of another role, because it has logged that', answered(new TypeError('a fault')), 0],
  ['a role that cannot be reached', fromConnectError(new ConnectError('refused', Code.Unavailable)), 1],
  ['a refusal of another role, which only we take for a failure', answered(new PublicError(6004)), 1],
  ['a refusal whose code this release does not know', answeredWith(11_999), 1],
  ['a failure of this process', new Error('broken'), 1],
])('a try of an effect that fails by %s has this many lines', (_cause, error, lines) => {
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {})
  recordFailure(leased('failed', 'money'), 3, 1_000, error)
  expect(warn).toHaveBeenCalledTimes(lines)
  warn.mockRestore()
})
