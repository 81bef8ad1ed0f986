import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { Store } from './port.ts'

const TIMEOUT_MS = 5_000
// A database of MongoDB, and a directory, on any system.
const DATABASE_NAME = /^[a-z][a-z0-9_-]{0,37}$/

/** Where a service keeps its documents: in MongoDB when its URI is given, else under `directory`. */
export interface StoreOptions {
  /** The service's own database; no two services share one. */
  readonly database: string
  readonly mongodb_uri?: Secret | undefined
  /** The data directory of the embedded default; the store takes `directory/<database>`. */
  readonly directory?: string | undefined
  /** How long any call may take; default 5,000. */
  readonly timeout_ms?: number
  /** Told of faults in the background, which nobody waits for. By default they are warnings of the process. */
  readonly failed?: (error: unknown) => void
}

/**
 * Opens the store of one service. Throws `Unavailable`, with a sentence for the operator, when MongoDB cannot be
 * reached or the directory cannot be written.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, mongodb_uri, directory, timeout_ms = TIMEOUT_MS, failed = warn } = options
  if (!DATABASE_NAME.test(database))
    throw new TypeError(`${JSON.stringify(database)} is no name for a database`)
  // Loaded on demand: a process needs one of the two, and each costs a good part of its start.
  if (mongodb_uri !== undefined) {
    const { openMongodb } = await import('./mongodb.ts')
    return await openMongodb({ uri: mongodb_uri, database, timeout_ms })
  }
  if (directory === undefined) {
    throw new Unavailable('there is no place to store anything: set MONGODB_URI, or a data directory')
  }
  const { openEmbedded } = await import('./embedded.ts')
  return await openEmbedded({ directory: join(directory, database), timeout_ms, failed })
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
