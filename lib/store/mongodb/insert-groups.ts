import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import { createGatherer } from '#lib/base/gather.ts'
import { clock } from '#lib/base/time.ts'
import { Ambiguous } from '../errors.ts'
import type { Deadline, WriteOptions } from './calls.ts'
import type { MongoCollection, StoredDocument } from './documents.ts'
import { isDuplicate } from './failures.ts'

interface GroupedDocument {
  readonly document: StoredDocument
  readonly size_bytes: number
  readonly deadline: Deadline
}

/** Most documents in one command. A server works on one command with one of its processors. */
const GROUP_DOCUMENTS_MAX = 64

/** Most bytes in one command, well below the driver's limit, above which it sends several. */
const GROUP_BYTES_MAX = 16 * 1024 ** 2

/**
 * How long each document gets a command of its own after a command of several failed. In a cluster a command waits for
 * all servers that it concerns, so a server that hangs would delay the documents of the others.
 */
const ALONE_MS = 10_000

/**
 * Creates the inserts of a collection that share a command with others of the same turn of the event loop, within limits. An
 * insert throws what concerns its document: the server's error for a duplicate, `Ambiguous` for every other error of the
 * document, and the failure of the command.
 */
export function createInsertGroups(target: Omit<MongoCollection, 'layout'>) {
  let alone_until_ms = Number.NEGATIVE_INFINITY
  const insert = createGatherer<GroupedDocument, void>({
    fits: (group, { size_bytes }) =>
      clock.monotonic_ms() >= alone_until_ms &&
      group.length < GROUP_DOCUMENTS_MAX &&
      group.reduce((sum, other) => sum + other.size_bytes, size_bytes) <= GROUP_BYTES_MAX,
    async send(group) {
      try {
        const failures = await insertGroup(target, group)
        return group.map((_, index) => {
          const error = failures.get(index)
          return error === undefined ? { value: undefined } : { error }
        })
      } catch (error) {
        if (group.length > 1 && error instanceof Ambiguous) alone_until_ms = clock.monotonic_ms() + ALONE_MS
        throw error
      }
    },
  })
  return (document: StoredDocument, size_bytes: number, deadline: Deadline): Promise<void> =>
    insert({ document, size_bytes, deadline })
}

/** Inserts the documents. Returns the errors of single documents by their index. Throws when the command failed. */
async function insertGroup(
  { documents, calls }: Omit<MongoCollection, 'layout'>,
  group: readonly GroupedDocument[],
): Promise<ReadonlyMap<number, Error>> {
  const [first, second] = group
  if (first === undefined) return new Map()
  const insert = async (options: WriteOptions): Promise<ReadonlyMap<number, Error>> => {
    if (second === undefined) {
      await documents.insertOne(first.document, options)
      return new Map()
    }
    const whole = group.map(({ document }) => document)
    try {
      const { insertedCount } = await documents.insertMany(whole, { ...options, ordered: false })
      if (insertedCount !== group.length) throw unclear()
      return new Map()
    } catch (error) {
      return failuresOfDocuments(error, group.length)
    }
  }
  // The inserts of one turn have about the same deadline.
  return await calls.write(insert, first.deadline)
}

/** The errors of single documents by their index, when the command inserted all others. Otherwise throws the error. */
function failuresOfDocuments(error: unknown, documents: number): ReadonlyMap<number, Error> {
  if (!(error instanceof MongoBulkWriteError)) throw error
  const { result } = error
  const failures = result.getWriteErrors()
  // Without the confirmation of a majority no write is certain.
  if (result.getWriteConcernError() !== undefined) throw unclear(error)
  if (failures.length === 0) throw error
  if (result.insertedCount + failures.length !== documents) throw unclear(error)
  return new Map(failures.map(({ index, code, errmsg }) => [index, failureOfDocument(code, errmsg)]))
}

function failureOfDocument(code: number, errmsg = ''): Error {
  const error = new MongoServerError({ code, errmsg })
  return isDuplicate(error) ? error : unclear(error)
}

function unclear(cause?: Error): Ambiguous {
  return new Ambiguous('MongoDB may have done a write', { cause })
}
