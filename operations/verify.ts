import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { type Config, readConfig, type Variables } from '#lib/base/config/config.ts'
import { readKeys } from '#lib/base/config/key-settings.ts'
import { readLines, systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { CheckKeys, DataCheck, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import { COMMAND_LIMITS, createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { isStub } from '#lib/store/archive/archived-document.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { type Command, type CommandOutput, problemsText } from '../app/run.ts'
import { findMissingFiles, readNeededFiles } from './archive/archive-files.ts'
import { type ArchiveSubject, checkStubs } from './archive/archived-collection.ts'
import { recordRun } from './backup/record-run.ts'
import {
  BACKUP_ORDER,
  COMMAND_PURPOSES,
  databasesOf,
  loadOperations,
  readerOf,
  VERIFY_SETTINGS,
} from './databases.ts'
import { unmetRequirements } from './requirements.ts'

/** What the signatures of the ledger prove, and what only a copy of its heads outside the databases can. */
const GUARANTEE =
  'only a holder of the keys of the purpose journal can have made the journals of the ledger, as far as they reach'
const NO_HEADS =
  'that none was cut off at its end shows only the log: repeat with --heads and a file of log lines'

/**
 * `main.ts verify [--heads FILE]`: checks that the databases of all roles are complete and agree, and prints each
 * problem. The file has lines of the log, whose heads of the ledger must be in the journals. It changes nothing but the record of its
 * run, and may run while the system works. Throws `StartError` when there is a problem. Prints which guarantee it gives.
 */
export const verify: Command = async (words, variables, output) => {
  const [option, heads_file, ...more] = words
  if (option !== undefined && (option !== '--heads' || heads_file === undefined || more.length > 0))
    throw new StartError(`${words.join(' ')} is not understood: verify takes --heads and a file of log lines`)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const keys = readKeys(config, COMMAND_PURPOSES.verify)
  // Read at the end, but a wrong name is not a failed run.
  if (heads_file !== undefined)
    await access(heads_file, constants.R_OK).catch((error: unknown) => {
      throw unreadable(heads_file, error)
    })
  await recordRun({ config, kind: 'verify', output }, async (covered_until) => {
    const problems = await countProblems(config, variables, keys, heads_file, output)
    if (problems > 0)
      throw new StartError(`${problemsText(problems)}: docs/operators/backup.md says what to do`)
    return { covered_until }
  })
  output.printLine('the databases are complete and agree')
  output.printLine(
    `${GUARANTEE}; ${heads_file === undefined ? NO_HEADS : 'and they reach the heads in the log'}`,
  )
}

/** Prints each problem. */
async function countProblems(
  config: Config<typeof VERIFY_SETTINGS>,
  variables: Variables,
  keys: CheckKeys,
  heads_file: string | undefined,
  output: CommandOutput,
): Promise<number> {
  const { printLine, printProgress } = output
  const databases = databasesOf(config)
  const archive_reader = createArchiveReader(config.archive, COMMAND_LIMITS)
  const roles = await loadOperations(BACKUP_ORDER)
  // What a document refers to is looked up after it was read, so no instant is needed, which MongoDB keeps for minutes only.
  const snapshot = await databases.openSnapshot(roles, 'ordered')
  const readerOfRole = (role: RoleOperations): ReadDocuments =>
    readerOf(snapshot, databases.nameOf(role), printProgress)
  const stores: Store[] = []
  const checks = new Map<RoleName, DataCheck>()
  const with_stubs = new Set<CollectionSpec>()
  let problems = 0
  const report = (role: RoleName, problem: string): void => {
    problems += 1
    printLine(`PROBLEM  ${role}: ${problem}`)
  }
  try {
    for (const role of roles) {
      const store = await databases.openStore(role, 'verify')
      stores.push(store)
      try {
        await role.openCollections(store)
        await role.checkKeys?.(store, keys)
      } catch (error) {
        // An index is missing, or the keys are wrong.
        if (!(error instanceof Unavailable || error instanceof StartError)) throw error
        report(role.name, error.message)
        continue
      }
      const readDocuments = notingStubs(readerOfRole(role), with_stubs)
      const whole = withArchive(store, archive_reader)
      const check = await role.checkData?.(whole, readDocuments, variables, keys)
      if (check) checks.set(role.name, check)
    }
    for (const [role, check] of checks) {
      printProgress(`${role}: checking`)
      for await (const problem of check.findProblems?.() ?? []) report(role, problem)
      if (heads_file !== undefined)
        for await (const problem of check.compareWithLog?.(linesOf(heads_file)) ?? []) report(role, problem)
      for await (const { requirement, finding } of unmetRequirements(check, checks))
        report(
          role,
          `${requirement.subject} ${finding === 'missing' ? 'is missing' : 'does not agree with it'}`,
        )
    }
    // Last: the requirements were read from all documents that can be stubs.
    for (const role of roles.filter(({ name }) => checks.has(name)))
      problems += await checkArchives(
        { role, directory: config.archive, output, with_stubs },
        readerOfRole(role),
      )
  } finally {
    for (const store of stores) await store.close()
    await snapshot.close()
  }
  return problems
}

/** Reads each archived body, if a directory is configured. Prints the problems, and returns their number. */
async function checkArchives(
  subject: Pick<ArchiveSubject, 'output'> & {
    readonly role: RoleOperations
    readonly directory: string | undefined
    readonly with_stubs: ReadonlySet<CollectionSpec>
  },
  readDocuments: ReadDocuments,
): Promise<number> {
  const { role, directory, output, with_stubs } = subject
  const needed = await readNeededFiles(role, readDocuments)
  if (needed.length > 0 && directory === undefined) {
    for (const text of await findMissingFiles(needed, directory))
      output.printLine(`${role.name}: their bodies are not checked: ${text}`)
    return 0
  }
  let problems = 0
  for (const archivable of role.archives ?? []) {
    // Also stubs without a record must be found.
    if (needed.length === 0 && !with_stubs.has(archivable.spec)) continue
    problems += await checkStubs({ ...subject, archivable }, readDocuments)
  }
  return problems
}

/** Reads documents, and adds each collection in which it met a stub. */
function notingStubs(readDocuments: ReadDocuments, with_stubs: Set<CollectionSpec>): ReadDocuments {
  return async function* readNoted<D extends object>(spec: CollectionSpec): AsyncGenerator<D> {
    for await (const document of readDocuments<D>(spec)) {
      if (isStub(document)) with_stubs.add(spec)
      yield document
    }
  }
}

/** The lines of a file. Throws `StartError` when it cannot be read. */
async function* linesOf(path: string): AsyncGenerator<string> {
  try {
    yield* readLines(path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): StartError {
  return new StartError(`${path} cannot be read (${systemErrorCode(error)}): name a file of log lines`)
}
