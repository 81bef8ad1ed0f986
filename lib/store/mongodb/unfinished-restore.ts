import type { Db } from 'mongodb'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { MongoCalls } from './calls.ts'
import { isDuplicate } from './failures.ts'

/** Marks a database whose restore has not ended. The mark is the only document of this collection. */
const COLLECTION = 'unfinished_restore'
const KEY = 'restore'

interface Mark {
  readonly _id: string
  readonly since: Date
  /** Set when all databases of the system are complete, before the first of their marks is removed. */
  readonly completed_at?: Date
}

const marksOf = (db: Db) => db.collection<Mark>(COLLECTION)

const readMark = (db: Db, calls: MongoCalls): Promise<Mark | null> =>
  calls.read((options) => marksOf(db).findOne({}, options))

/** Throws `Unavailable` for a database whose restore has not ended. */
export async function refuseUnfinishedRestore(db: Db, calls: MongoCalls): Promise<void> {
  const mark = await readMark(db, calls)
  if (mark === null) return
  throw new Unavailable(
    mark.completed_at === undefined
      ? `the restore of the database ${db.databaseName} was not finished: drop all databases of the system and restore again`
      : `the restore of the database ${db.databaseName} is complete but for its end: repeat it`,
  )
}

/** Whether the mark says that all databases of the system are completely restored. */
export async function isRestoreComplete(db: Db, calls: MongoCalls): Promise<boolean> {
  return (await readMark(db, calls))?.completed_at !== undefined
}

/** Marks a database before its first document is restored. Throws `Unavailable` when another restore has marked it. */
export async function markUnfinishedRestore(db: Db, calls: MongoCalls): Promise<void> {
  try {
    await calls.write((options) => marksOf(db).insertOne({ _id: KEY, since: now() }, options))
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new Unavailable(`another restore of the database ${db.databaseName} has begun: let one of them run`)
  }
}

/** Notes in the mark that all databases of the system are completely restored. */
export async function completeRestoreMark(db: Db, calls: MongoCalls): Promise<void> {
  await calls.write((options) =>
    marksOf(db).updateOne({ _id: KEY }, { $set: { completed_at: now() } }, options),
  )
}

/** Removes the mark of a database, if it has one. */
export async function removeRestoreMark(db: Db, calls: MongoCalls): Promise<void> {
  await calls.write(({ writeConcern }) => marksOf(db).drop({ writeConcern }))
}
