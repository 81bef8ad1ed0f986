import type { Secret } from '#lib/base/crypto/secret.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { Declarations } from './declarations.ts'

/** A MongoDB database and what this release declares of it. */
export interface DeclaredDatabase {
  readonly mongodb_uri: Secret
  readonly database: string
  readonly declarations: Declarations
  readonly start_wait: StartWait
}

/**
 * Finds the indexes that no declaration has any more, as `collection.index`, and drops them if `drops` is set. Processes of
 * an older release may still need them. Throws `Unavailable`.
 */
export async function findRetiredIndexes(
  database: DeclaredDatabase,
  options: { readonly drops: boolean },
): Promise<readonly string[]> {
  // Loaded on demand, like the adapter itself.
  const { retireIndexes } = await import('./mongodb/retired-indexes.ts')
  return await retireIndexes(database, options)
}
