import type { Secret } from '#lib/base/crypto/secret.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { Store } from './store.ts'

/** Empty databases that are filled from a backup. No process can start on them before `finish`. */
export interface RestoreTarget {
  open(database: string): Promise<Store>
  /** Makes the databases those of the system. All stores must be closed. */
  finish(): Promise<void>
}

/** Where to restore: in MongoDB when its URI is given, otherwise to `directory`. */
export interface RestoreOptions {
  readonly databases: readonly string[]
  readonly mongodb_uri: Secret | undefined
  readonly directory: string
  readonly start_wait: StartWait
}

/**
 * Prepares a restore. Throws `Unavailable`, with what to do, when a database is not empty or an earlier restore was not
 * finished.
 */
export async function openRestoreTarget(options: RestoreOptions): Promise<RestoreTarget> {
  const { databases, mongodb_uri: uri, directory, start_wait } = options
  if (uri !== undefined) {
    const { openMongodbRestore } = await import('./mongodb/restore-target.ts')
    return await openMongodbRestore(uri, databases, start_wait)
  }
  const { openEmbeddedRestore } = await import('./embedded/restore-target.ts')
  return await openEmbeddedRestore(directory)
}
