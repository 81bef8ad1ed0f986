import { type Config, readConfig } from '#lib/base/config/config.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ROLES } from '#lib/role/role.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import type { WeighedRanges } from '#lib/store/maintenance.ts'
import { dropRetiredIndexes, findRetiredIndexes, moveRanges } from '#lib/store/open.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Command, CommandOutput } from '../app/run.ts'
import { recordRun } from './backup/record-run.ts'
import { DATABASE_SETTINGS, databasesOf, loadOperations } from './databases.ts'

const DROP_RETIRED = '--drop-retired'
const PLACE = '--place'
const WORDS: readonly string[] = [DROP_RETIRED, PLACE]

/** The time over which `--place` measures what is inserted. */
const MEASURED_MS = 60 * 60 * 1_000

/**
 * Creates the collections, indexes and shard keys of all roles in MongoDB, and reports each role. It can be repeated. Indexes that
 * this release does not declare are only named, or dropped with `--drop-retired`, because processes of the release before may need
 * them; a role with a problem keeps them. Serving processes only verify the result. With `--place` the ranges of sharded collections
 * are then moved apart by what was inserted in the last hour. Throws `StartError` without a MONGODB_URI, because embedded files need
 * no migration, and `Unavailable` at the end with the problems of all roles.
 */
export const migrate: Command = async (words, variables, output) => {
  const unknown = words.find((word) => !WORDS.includes(word))
  if (unknown !== undefined) throw new StartError(`${unknown} is not a word of migrate: leave it out`)
  const config = readConfig(DATABASE_SETTINGS, variables)
  const { mongodb_uri } = config
  if (mongodb_uri === undefined)
    throw new StartError('MONGODB_URI is missing: only a MongoDB database needs a migration')
  await recordRun({ config, kind: 'migrate', output, schema: 'create' }, async () => {
    await migrateAll(config, mongodb_uri, words, output)
    return {}
  })
  output.printLine('the databases are complete')
}

async function migrateAll(
  config: Config<typeof DATABASE_SETTINGS>,
  mongodb_uri: Secret,
  words: readonly string[],
  { printLine }: CommandOutput,
): Promise<void> {
  const databases = databasesOf(config)
  const drops = words.includes(DROP_RETIRED)
  const start_wait = { limit_ms: config.start_wait_ms }
  const since = new Date(clock.now_ms() - MEASURED_MS)
  const problems: string[] = []
  for (const role of await loadOperations(ROLES)) {
    const database = databases.nameOf(role)
    printLine(`${database}: creating collections, indexes and shard keys`)
    const store = await databases.openStore(role, 'create')
    // What one role needs from its operator keeps no other role from being completed.
    const problem = await messageOfUnavailable(database, async () => {
      let ranges: WeighedRanges | undefined
      try {
        await role.openCollections(store)
        if (words.includes(PLACE)) ranges = await role.weighRanges?.(store, since)
      } finally {
        await store.close()
      }
      if (ranges === undefined) return
      const { moved, refused } = await moveRanges({ mongodb_uri, database, start_wait }, ranges, printLine)
      printLine(`${database}: ${moved} ranges were moved, ${refused} could not be moved`)
    })
    // New indexes may be missing after a problem, and then queries need the retired ones.
    const drops_here = drops && problem === undefined
    const retired_problem = await messageOfUnavailable(database, async () => {
      const declarations = await readDeclarations(role.openCollections)
      const retireIndexes = drops_here ? dropRetiredIndexes : findRetiredIndexes
      const retired = await retireIndexes({ mongodb_uri, database, declarations, start_wait })
      if (retired.length > 0) printLine(`${database}: ${retiredText(retired, drops_here)}`)
    })
    for (const message of [problem, retired_problem])
      if (message !== undefined) problems.push(`${database}: ${message}`)
  }
  if (problems.length > 0) throw new Unavailable(problems.join('\n'))
}

/** The message of the `Unavailable` with which an act ends, whose cause is logged; `undefined` when it succeeds. */
async function messageOfUnavailable(database: string, act: () => Promise<void>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    log.warn({ error, database }, 'the database is not complete')
    return error.message
  }
}

/** The line about indexes that no declaration has any more. */
export function retiredText(retired: readonly string[], drops: boolean): string {
  const names = retired.join(', ')
  if (drops) return `dropped the retired indexes ${names}`
  return `retired indexes: ${names}; when all processes run this release, "migrate ${DROP_RETIRED}" drops them`
}
