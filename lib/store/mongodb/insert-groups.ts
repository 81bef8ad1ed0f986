import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import { clock, nextTurn } from '#lib/base/time.ts'
import { Ambiguous } from '../errors.ts'
import type { Deadline, WriteOptions } from './calls.ts'
import type { MongoCollection, StoredDocument } from './documents.ts'
import { isDuplicate } from './failures.ts'

/**
 * Inserts a document of `size_bytes` with others in one command. Throws what concerns this document: the server's error
 * for a duplicate, `Ambiguous` for every other error of the document, and the failure of the command.
 */
export type GroupedInsert = (
  document: StoredDocument,
  size_bytes: number,
  deadline: Deadline,
) => Promise<void>

interface WaitingInsert {
  readonly document: StoredDocument
  readonly size_bytes: number
  readonly deadline: Deadline
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Most documents in one command. A server works on one command with one of its processors. */
const GROUP_DOCUMENTS_MAX = 64

/** Most bytes in one command, well below the driver's limit, above which it sends several. */
const GROUP_BYTES_MAX = 16 * 1024 ** 2

/**
 * How long each document gets a command of its own after a command of several failed. In a cluster a command waits for
 * all servers that it concerns, so one that hangs would delay the documents of the others.
 */
const ALONE_MS = 10_000

/** Creates the groups of a collection: one group for the inserts of one turn of the event loop, within limits. */
export function createInsertGroups(target: Omit<MongoCollection, 'layout'>): GroupedInsert {
  let waiting: WaitingInsert[] = []
  let alone_until_ms = Number.NEGATIVE_INFINITY

  function sendAll(): void {
    const members = waiting
    waiting = []
    for (const group of isAlone() ? members.map((member) => [member]) : inGroups(members)) void send(group)
  }

  const isAlone = (): boolean => clock.monotonic_ms() < alone_until_ms

  async function send(group: readonly WaitingInsert[]): Promise<void> {
    try {
      const failures = await insertGroup(target, group)
      for (const [index, { resolve, reject }] of group.entries()) {
        const failure = failures.get(index)
        if (failure === undefined) resolve()
        else reject(failure)
      }
    } catch (error) {
      if (group.length > 1 && error instanceof Ambiguous) alone_until_ms = clock.monotonic_ms() + ALONE_MS
      for (const { reject } of group) reject(error)
    }
  }

  return (document, size_bytes, deadline) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) nextTurn(sendAll)
      waiting.push({ document, size_bytes, deadline, resolve, reject })
    })
}

function inGroups(members: readonly WaitingInsert[]): WaitingInsert[][] {
  const groups: WaitingInsert[][] = []
  let size_bytes = 0
  for (const member of members) {
    const last = groups.at(-1)
    size_bytes += member.size_bytes
    if (last !== undefined && last.length < GROUP_DOCUMENTS_MAX && size_bytes <= GROUP_BYTES_MAX) {
      last.push(member)
    } else {
      groups.push([member])
      size_bytes = member.size_bytes
    }
  }
  return groups
}

/** Inserts the documents. Returns the errors of single documents by their index. Throws when the command failed. */
async function insertGroup(
  { documents, calls }: Omit<MongoCollection, 'layout'>,
  group: readonly WaitingInsert[],
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
