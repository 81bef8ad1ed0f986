import type { Db } from 'mongodb'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { MongoCalls } from './calls.ts'

/** Marks a database that is not completely restored. The mark is the only document of this collection. */
const COLLECTION = 'unfinished_restore'

/** Throws `Unavailable` for a database that is not completely restored. */
export async function refuseUnfinishedRestore(db: Db, calls: MongoCalls): Promise<void> {
  const mark = await calls.read((options) => db.collection(COLLECTION).findOne({}, options))
  if (mark === null) return
  throw new Unavailable(
    `the restore of the database ${db.databaseName} was not finished: drop the database and restore again`,
  )
}

/** Marks a database before its first document is restored. */
export async function markUnfinishedRestore(db: Db, calls: MongoCalls): Promise<void> {
  await calls.write((options) => db.collection(COLLECTION).insertOne({ since: now() }, options))
}

/** Removes the mark of a database that is completely restored. */
export async function removeRestoreMark(db: Db, calls: MongoCalls): Promise<void> {
  await calls.write(({ writeConcern }) => db.collection(COLLECTION).drop({ writeConcern }))
}
