import { readConfig } from '#lib/platform/config/config.ts'
import { PROCESS_SETTINGS } from '#lib/platform/process/process-settings.ts'
import { ROLES } from '#lib/platform/process/role.ts'
import type { CommandOutput } from '#lib/platform/process/run.ts'
import { StartError } from '#lib/platform/process/start-error.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { databaseOf, loadRoles } from './roles.ts'

const { mongodb_uri, system_name, start_wait_ms } = PROCESS_SETTINGS

/**
 * Creates the collections, indexes and shard keys of all roles in MongoDB, and reports each role. What
 * exists already stays as it is, so a migration can be repeated. Serving processes only verify the result. Throws
 * `StartError` without a MONGODB_URI, because embedded files need no migration.
 */
export async function migrate(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine }: CommandOutput,
): Promise<void> {
  if (words.length > 0) throw new StartError(`${words[0]} is not a word of migrate: leave it out`)
  const config = readConfig({ mongodb_uri, system_name, start_wait_ms }, variables)
  if (config.mongodb_uri === undefined)
    throw new StartError('MONGODB_URI is missing: only a MongoDB database needs a migration')
  for (const role of await loadRoles(ROLES)) {
    const database = databaseOf(config.system_name, role.name)
    printLine(`${database}: creating collections, indexes and shard keys`)
    const store = await openStore({
      database,
      mongodb_uri: config.mongodb_uri,
      schema: 'create',
      start_wait: { limit_ms: config.start_wait_ms },
    })
    try {
      await role.openCollections(store)
    } finally {
      await store.close()
    }
  }
  printLine('the databases are complete')
}
