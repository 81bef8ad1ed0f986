import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoNetworkError,
  MongoServerError,
  type WriteConcernError,
  type WriteError,
} from 'mongodb'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { Ambiguous } from '../errors.ts'
import type { Deadline, MongoCalls } from './calls.ts'
import type { MongoCollection, StoredDocument } from './documents.ts'
import { writeFailure } from './failures.ts'
import { createInsertGroups } from './insert-groups.ts'

const DEADLINE: Deadline = { remaining_ms: () => 1_000, pause: async () => {} }

/** The ids of the documents of each command, in order. */
let commands: string[][]
/** How the server answers a command of several documents; `undefined` when it inserts all of them. */
let failure: Error | undefined
/** The documents that it does not insert, without saying so. */
let left_out: number
let insert: (id: string, size_bytes?: number) => Promise<void>
let manual: InstalledClock

beforeEach(() => {
  manual = installManualClock()
  commands = []
  failure = undefined
  left_out = 0
  const documents = {
    async insertOne({ _id }: StoredDocument) {
      commands.push([_id])
    },
    async insertMany(whole: readonly StoredDocument[]) {
      commands.push(whole.map(({ _id }) => _id))
      if (failure !== undefined) throw failure
      return { insertedCount: whole.length - left_out }
    },
  }
  const calls: Pick<MongoCalls, 'write'> = {
    async write(call) {
      try {
        return await call({ maxTimeMS: 1, writeConcern: { w: 'majority', journal: true, wtimeoutMS: 1 } })
      } catch (error) {
        throw writeFailure(error, 1)
      }
    },
  }
  // Only these methods are used.
  const target = { documents, calls } as unknown as MongoCollection
  const insertGrouped = createInsertGroups(target)
  insert = (id, size_bytes = 1) => insertGrouped({ _id: id }, size_bytes, DEADLINE)
})
afterEach(() => manual[Symbol.dispose]())

/** The error of a command of several documents, as the driver throws it. */
function bulkError(
  inserted_count: number,
  write_errors: readonly { readonly index: number; readonly code: number }[],
  concern_error?: WriteConcernError,
): MongoBulkWriteError {
  const errors = write_errors.map((error) => ({ ...error, errmsg: 'index: by_code dup key' }) as WriteError)
  const result: Partial<BulkWriteResult> = {
    insertedCount: inserted_count,
    getWriteErrors: () => errors,
    getWriteConcernError: () => concern_error,
  }
  return new MongoBulkWriteError({ message: 'failed', code: 11000 }, result as BulkWriteResult)
}

/** Inserts documents in one turn. Returns the errors, `undefined` for a document that was inserted. */
async function insertAll(...ids: readonly string[]): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(ids.map((id) => insert(id)))
  return outcomes.map((outcome) => ('reason' in outcome ? outcome.reason : undefined))
}

describe('the inserts of one turn', () => {
  test('share a command, those of another turn do not', async () => {
    await insertAll('a', 'b')
    await insertAll('c')
    expect(commands).toEqual([['a', 'b'], ['c']])
  })

  test('are divided by number and by size', async () => {
    await insertAll(...Array.from({ length: 130 }, (_, number) => `${number}`))
    expect(commands.map(({ length }) => length)).toEqual([64, 64, 2])
    commands = []
    const large = 6 * 1024 ** 2
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => insert(id, large)))
    expect(commands).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })
})

describe('a command of several documents', () => {
  test('that refuses some documents inserts the others', async () => {
    failure = bulkError(2, [{ index: 1, code: 11000 }])
    const duplicate = expect.objectContaining({ code: 11000, message: expect.stringContaining('by_code') })
    expect(await insertAll('a', 'b', 'c')).toEqual([undefined, duplicate, undefined])
  })

  test('with an error that is not a duplicate leaves the outcome of that document open', async () => {
    failure = bulkError(1, [{ index: 0, code: 13 }])
    expect(await insertAll('a', 'b')).toEqual([expect.any(Ambiguous), undefined])
  })

  test.each<[string, Error]>([
    ['was not confirmed by a majority', bulkError(2, [], { code: 64 } as WriteConcernError)],
    [
      'was not confirmed by a majority and refused one',
      bulkError(1, [{ index: 0, code: 11000 }], { code: 64 } as WriteConcernError),
    ],
    ['reports fewer outcomes than documents', bulkError(0, [{ index: 0, code: 11000 }])],
    ['got no response', new MongoNetworkError('connection closed')],
    ['failed', new MongoServerError({ code: 1, message: 'the disk is full' })],
  ])('that %s leaves every outcome open', async (_, error) => {
    failure = error
    expect(await insertAll('a', 'b')).toEqual([expect.any(Ambiguous), expect.any(Ambiguous)])
  })

  test('that inserted fewer documents without an error leaves every outcome open', async () => {
    left_out = 1
    expect(await insertAll('a', 'b')).toEqual([expect.any(Ambiguous), expect.any(Ambiguous)])
  })

  test('that failed is followed by single ones for a time', async () => {
    failure = new MongoNetworkError('connection closed')
    await insertAll('a', 'b')
    failure = undefined
    commands = []
    await insertAll('c', 'd')
    await manual.advance(10_000)
    await insertAll('e', 'f')
    expect(commands).toEqual([['c'], ['d'], ['e', 'f']])
    await settled()
  })
})
