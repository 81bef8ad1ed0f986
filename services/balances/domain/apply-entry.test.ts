import { expect, test } from '@jest/globals'
import { credit, hold, resolve } from '../ledger.fixture.ts'
import type { Command } from './command.ts'
import { decideCommand } from './decide-command.ts'
import type { BatchPosition, Entry } from './entry.ts'
import { type BatchDraft, createBatchDraft, createShardState } from './shard-state.ts'

const AT: BatchPosition = { shard: 1, seq: 1n, time: new Date(0) }

/** The books after a credit of 10, with an open hold of 4. */
function openBooks(): BatchDraft {
  const draft = createBatchDraft(createShardState({ shard: 1 }), AT)
  for (const command of [credit('a', 10n), hold('h', 4n)]) decideCommand(draft, command, AT)
  return draft
}

/** The entry that the books would record for a command. */
function entryOf(command: Command): Entry {
  const result = decideCommand(openBooks(), command, AT)
  if (!('recorded' in result)) throw new Error(`not recorded: ${result.not_recorded}`)
  return result.recorded.entry
}

const early_release = entryOf(resolve('release', 'never seen'))

// B4
test.each<[string, Command, (entry: Entry) => Entry, string]>([
  [
    'another available balance',
    credit('b', 1n),
    (e) => ({ ...e, available: e.available + 1n }),
    'states a balance',
  ],
  ['another held balance', credit('b', 1n), (e) => ({ ...e, held: e.held + 1n }), 'states a balance'],
  [
    'more than is held',
    resolve('capture', 'h'),
    (e) => ({ ...e, amount: 5n, held: -1n }),
    'takes more than is held',
  ],
  [
    'a part of a hold',
    resolve('capture', 'h'),
    (e) => ({ ...e, amount: 3n, held: 1n }),
    'is not open or has other content',
  ],
  [
    'the end of a hold that is not open',
    resolve('release', 'h'),
    (e) => ({ ...e, id: 'i:resolve' }),
    'is not open or has other content',
  ],
  ['an open hold once more', hold('i', 1n), (e) => ({ ...e, id: 'h' }), 'opens a hold that is already open'],
  [
    'an early release of an open hold',
    credit('b', 1n),
    () => ({ ...early_release, id: 'h:resolve' }),
    'leaves a hold open that it should have released',
  ],
  [
    'an early release with an amount',
    credit('b', 1n),
    () => ({ ...early_release, amount: 1n }),
    'states an amount although its hold is unknown',
  ],
])('a journal that contains %s is corrupt', (_what, command, alter, problem) => {
  const entry = entryOf(command)
  expect(() => openBooks().record(entry)).not.toThrow()
  expect(() => openBooks().record(alter(entry))).toThrow(problem)
})
