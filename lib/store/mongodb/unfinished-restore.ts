import type { Db } from 'mongodb'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { MongoCalls } from './calls.ts'
import { isDuplicate } from './failures.ts'

/** Marks a database that is not completely restored. The mark is the only document of this collection. */
const COLLECTION = 'unfinished_restore'
const KEY = 'restore'

const marksOf = (db: Db) => db.collection<{ readonly _id: string; readonly since: Date }>(COLLECTION)

/** Throws `Unavailable` for a database that is not completely restored. */
export async function refuseUnfinishedRestore(db: Db, calls: MongoCalls): Promise<void> {
  const mark = await calls.read((options) => marksOf(db).findOne({}, options))
  if (mark === null) return
  throw new Unavailable(
    `the restore of the database ${db.databaseName} was not finished: unless it still runs, stop all processes, drop all databases of the system and restore again`,
  )
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

/** Removes the mark of a database that is completely restored. */
export async function removeRestoreMark(db: Db, calls: MongoCalls): Promise<void> {
  await calls.write(({ writeConcern }) => marksOf(db).drop({ writeConcern }))
}
