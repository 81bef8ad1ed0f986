import { expect, test } from '@jest/globals'
import { credit, hold, resolve } from '../ledger.fixture.ts'
import type { Command } from './command.ts'
import { decideCommand } from './decide-command.ts'
import type { BatchPosition, Entry } from './entry.ts'
import { type BatchDraft, createBatchDraft, createShardState } from './shard-state.ts'

const INT64_MAX = 2n ** 63n - 1n
const AT: BatchPosition = { shard: 1, seq: 1n, time: new Date(0) }

/** The books after a credit of 10, with an open hold of 4; the same in another currency and for another merchant. */
function openBooks(): BatchDraft {
  const draft = createBatchDraft(createShardState({ shard: 1 }), AT)
  const commands = [
    credit('a', 10n),
    hold('h', 4n),
    credit('other currency', 10n, '1000', 'MXN'),
    hold('hold in another currency', 4n, '1000', 'MXN'),
    credit('other merchant', 10n, '2000'),
    hold('hold of another merchant', 4n, '2000'),
  ]
  for (const command of commands) decideCommand(draft, command, AT)
  return draft
}

/** The entry that the books would record for a command. */
function entryOf(command: Command): Entry {
  const result = decideCommand(openBooks(), command, AT)
  if (!('recorded' in result)) throw new Error(`not recorded: ${result.not_recorded}`)
  return result.recorded.entry
}

const earlyRelease = (): Entry => entryOf(resolve('release', 'never seen'))

// B4
test.each<[string, Command, (entry: Entry) => Entry, string]>([
  [
    'another available balance',
    credit('b', 1n),
    (e) => ({ ...e, available: e.available + 1n }),
    'states a balance',
  ],
  ['another held balance', credit('b', 1n), (e) => ({ ...e, held: e.held + 1n }), 'states a balance'],
  ['a sum above 64 bits', credit('b', 1n), (e) => ({ ...e, amount: INT64_MAX }), 'exceed 64 bits'],
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
    'the end of a hold of another merchant',
    resolve('capture', 'h'),
    (e) => ({ ...e, merchant_id: '2000' }),
    'is not open or has other content',
  ],
  [
    'the end of a hold of another currency',
    resolve('capture', 'h'),
    (e) => ({ ...e, currency: 'MXN' }),
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
    () => ({ ...earlyRelease(), id: 'h:resolve' }),
    'leaves a hold open that it should have released',
  ],
  [
    'an early release with an amount',
    credit('b', 1n),
    () => ({ ...earlyRelease(), amount: 1n }),
    'states an amount although its hold is unknown',
  ],
  [
    'an early release with an available balance',
    credit('b', 1n),
    () => ({ ...earlyRelease(), available: 1n }),
    'states an amount although its hold is unknown',
  ],
  [
    'an early release with a held balance',
    credit('b', 1n),
    () => ({ ...earlyRelease(), held: 1n }),
    'states an amount although its hold is unknown',
  ],
  [
    'a transfer that is counted as a withdrawal',
    credit('b', 1n),
    (e) => ({ ...e, counted: { service_id: 7, day: '2026-11-22', period: 0 } }),
    'is counted although it is not an accepted withdrawal',
  ],
])('a journal that contains %s is corrupt', (_what, command, alter, problem) => {
  const entry = entryOf(command)
  expect(() => openBooks().record(entry)).not.toThrow()
  expect(() => openBooks().record(alter(entry))).toThrow(problem)
})
