import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { ROLES } from '#lib/role/role.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { dropRetiredIndexes, findRetiredIndexes, openStore } from '#lib/store/open.ts'
import { PROCESS_SETTINGS } from '../app/process-settings.ts'
import { databaseOf } from '../app/roles.ts'
import type { CommandOutput } from '../app/run.ts'
import { loadOperations } from './load-operations.ts'

const { mongodb_uri, system_name, start_wait_ms } = PROCESS_SETTINGS
const DROP_RETIRED = '--drop-retired'

/**
 * Creates the collections, indexes and shard keys of all roles in MongoDB, and reports each role. What exists already stays
 * as it is, so a migration can be repeated. Indexes that this release does not declare are only named, or dropped with
 * `--drop-retired`, because processes of the release before may need them. Serving processes only verify the result.
 * Throws `StartError` without a MONGODB_URI, because embedded files need no migration.
 */
export async function migrate(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine }: CommandOutput,
): Promise<void> {
  const drops = words.includes(DROP_RETIRED)
  const unknown = words.find((word) => word !== DROP_RETIRED)
  if (unknown !== undefined) throw new StartError(`${unknown} is not a word of migrate: leave it out`)
  const config = readConfig({ mongodb_uri, system_name, start_wait_ms }, variables)
  const { mongodb_uri: uri } = config
  if (uri === undefined)
    throw new StartError('MONGODB_URI is missing: only a MongoDB database needs a migration')
  for (const role of await loadOperations(ROLES)) {
    const database = databaseOf(config.system_name, role.name)
    printLine(`${database}: creating collections, indexes and shard keys`)
    const place = { mongodb_uri: uri, database, start_wait: { limit_ms: config.start_wait_ms } }
    const store = await openStore({ ...place, schema: 'create' })
    try {
      await role.openCollections(store)
    } finally {
      await store.close()
    }
    const declarations = await readDeclarations(role.openCollections)
    const retireIndexes = drops ? dropRetiredIndexes : findRetiredIndexes
    const retired = await retireIndexes({ ...place, declarations })
    if (retired.length > 0) printLine(`${database}: ${retiredText(retired, drops)}`)
  }
  printLine('the databases are complete')
}

/** The line about indexes that no declaration has any more. */
export function retiredText(retired: readonly string[], drops: boolean): string {
  const names = retired.join(', ')
  if (drops) return `dropped the retired indexes ${names}`
  return `retired indexes: ${names}; when all processes run this release, "migrate ${DROP_RETIRED}" drops them`
}
