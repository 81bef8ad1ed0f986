import type { Db } from 'mongodb'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { RestoreTarget } from '../maintenance.ts'
import { openMongodb } from '../mongodb.ts'
import type { MongoCalls } from './calls.ts'
import { connectMongodb, openDatabase } from './connect.ts'
import { markUnfinishedRestore, refuseUnfinishedRestore, removeRestoreMark } from './unfinished-restore.ts'

const TIMEOUT_MS = 30_000
const CONNECTIONS_MAX = 100

/** Restores into databases without documents. Each is marked until all are complete, so that no process starts on it. */
export async function openMongodbRestore(
  uri: Secret,
  databases: readonly string[],
  start_wait: StartWait,
): Promise<RestoreTarget> {
  const limits = { timeout_ms: TIMEOUT_MS, connections_max: CONNECTIONS_MAX }
  const withDatabases = async (visit: (db: Db, calls: MongoCalls) => Promise<void>): Promise<void> => {
    const { client, calls } = await connectMongodb({
      uri,
      ...limits,
      closes_silent_connections: false,
      start_wait,
    })
    try {
      for (const name of databases) await visit(openDatabase(client, name), calls)
    } finally {
      await client.close()
    }
  }
  // Of all before their documents: a restore that was killed while it removed the marks has left databases with documents only.
  await withDatabases(refuseUnfinishedRestore)
  await withDatabases(refuseDocuments)
  await withDatabases(markUnfinishedRestore)
  return {
    open: (database) =>
      openMongodb({ uri, ...limits, database, schema: 'create', start_wait, is_restore: true }),
    finish: () => withDatabases(removeRestoreMark),
  }
}

async function refuseDocuments(db: Db, calls: MongoCalls): Promise<void> {
  const collections = await calls.read(() => db.listCollections({}, { nameOnly: true }).toArray())
  for (const { name } of collections) {
    if (name.startsWith('system.')) continue
    if ((await calls.read((options) => db.collection(name).findOne({}, options))) === null) continue
    throw new Unavailable(
      `the database ${db.databaseName} is not empty: stop all processes and drop it, or set another MONGODB_URI`,
    )
  }
}
