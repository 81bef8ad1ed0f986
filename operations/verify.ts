import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { DataCheck, ReadDocuments, Requirement } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { Snapshot } from '#lib/store/maintenance.ts'
import { openSnapshot, openStore } from '#lib/store/open.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { PROCESS_SETTINGS } from '../app/process-settings.ts'
import { databaseOf } from '../app/roles.ts'
import { type CommandOutput, problemsText } from '../app/run.ts'
import { BACKUP_ORDER, DATABASE_SETTINGS } from './backup/backup.ts'
import { withProgress } from './backup/frames.ts'
import { loadOperations, placeOf } from './load-operations.ts'

/** The settings of `verify`. */
export const VERIFY_SETTINGS = { ...DATABASE_SETTINGS, keyring: PROCESS_SETTINGS.keyring }
/** How many requirements are looked up at once. */
const LOOKUPS_MAX = 64

/**
 * `node main.ts verify`: checks that the databases of all roles are complete and agree, and prints each problem. It changes
 * nothing and may run while the system works. Throws `StartError` when there is a problem.
 */
export async function verify(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine, printProgress }: CommandOutput,
): Promise<void> {
  if (words.length > 0) throw new StartError(`${words[0]} is not a word of verify: leave it out`)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const { system_name, keyring } = config
  const place = placeOf(config)
  const databases = BACKUP_ORDER.map((name) => databaseOf(system_name, name))
  // Before the stores, whose writers it locks out for a moment.
  // What a document refers to is looked up after it was read, so no instant is needed, which MongoDB keeps for minutes only.
  const snapshot = await openSnapshot(place, databases, 'ordered')
  const stores: Store[] = []
  const checks = new Map<RoleName, DataCheck>()
  let problems = 0
  const report = (role: RoleName, problem: string): void => {
    problems += 1
    printLine(`PROBLEM  ${role}: ${problem}`)
  }
  try {
    for (const role of await loadOperations(BACKUP_ORDER)) {
      const database = databaseOf(system_name, role.name)
      const store = await openStore({ ...place, database, schema: 'verify' })
      stores.push(store)
      try {
        await role.openCollections(store)
        await role.checkKeys?.(store, keyring)
      } catch (error) {
        // An index is missing, or the keys are wrong.
        if (!(error instanceof Unavailable || error instanceof StartError)) throw error
        report(role.name, error.message)
        continue
      }
      const check = await role.checkData?.(store, readerOf(snapshot, database, printProgress), variables)
      if (check) checks.set(role.name, check)
    }
    for (const [role, check] of checks) {
      printProgress(`${role}: checking`)
      for await (const problem of check.findProblems?.() ?? []) report(role, problem)
      for await (const subject of missingSubjects(check, checks)) report(role, `${subject} is missing`)
    }
  } finally {
    for (const store of stores) await store.close()
    await snapshot.close()
  }
  if (problems > 0)
    throw new StartError(`${problemsText(problems)}: docs/operators/backup.md says what to do`)
  printLine('the databases are complete and agree')
}

/** Reads the collections of one database of a snapshot, and reports how far it is. */
export function readerOf(
  snapshot: Snapshot,
  database: string,
  printProgress: CommandOutput['printProgress'],
): ReadDocuments {
  return <D extends object>(spec: CollectionSpec) => {
    // The documents are what the role has stored under this declaration.
    const documents = snapshot.database(database).readDocuments(spec) as AsyncIterable<D>
    return withProgress(documents, (count) => printProgress(`${database}: ${spec.name}: ${count} read`))
  }
}

/** The subjects of what other roles must have and do not. Roles that could not be opened are not asked. */
async function* missingSubjects(
  check: DataCheck,
  checks: ReadonlyMap<RoleName, DataCheck>,
): AsyncGenerator<string> {
  let lookups: Promise<string | undefined>[] = []
  const missing = async (): Promise<string[]> => {
    const subjects = await Promise.all(lookups)
    lookups = []
    return subjects.filter((subject) => subject !== undefined)
  }
  for await (const requirement of check.listRequirements?.() ?? []) {
    lookups.push(
      isMissing(requirement, checks).then((is_missing) => (is_missing ? requirement.subject : undefined)),
    )
    if (lookups.length === LOOKUPS_MAX) yield* await missing()
  }
  yield* await missing()
}

async function isMissing(
  requirement: Requirement,
  checks: ReadonlyMap<RoleName, DataCheck>,
): Promise<boolean> {
  const holder = checks.get(requirement.role)
  if (holder?.holds === undefined) return false
  if (requirement.event !== undefined && !(await checks.get('merchants')?.subscribes?.(requirement)))
    return false
  return !(await holder.holds(requirement))
}
