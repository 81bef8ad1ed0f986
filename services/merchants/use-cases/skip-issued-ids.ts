import { ID_KINDS, type IssuedIds } from '../store/issued-ids.ts'

/** Far above the number of merchants, credentials or routes that are created between two backups. */
const SKIPPED = 1_000n

/**
 * Leaves out the next 1,000 ids of each kind after a restore. The ids that were issued after the backup are not in it, but
 * merchants may hold them, so they must not be issued again to others.
 */
export async function skipIssuedIds(issued_ids: Pick<IssuedIds, 'skip'>): Promise<void> {
  for (const kind of ID_KINDS) await issued_ids.skip(kind, SKIPPED)
}
