import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '#lib/base/config/config.ts'
import { readKeys } from '#lib/base/config/key-settings.ts'
import { ignoreMissing, systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import type { Archivable, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import { type Command, type CommandOutput, problemsText } from '../../app/run.ts'
import { COMMAND_PURPOSES, databasesOf, loadOperations, readerOf, VERIFY_SETTINGS } from '../databases.ts'
import { listArchiveFiles } from './archive-files.ts'
import {
  type ArchiveSubject,
  archiveCollection,
  checkStubs,
  forgetFiles,
  isOfKilledRun,
  restoreStubs,
} from './archived-collection.ts'

/** The roles with collections that can be archived. */
export const ARCHIVING_ROLES: readonly RoleName[] = ['payments', 'balances']

const USAGE = 'main.ts archive --before DATE|--check|--restore DIRECTORY'

/**
 * What happened while a backup runs is added to its payments from the batches of the ledger, also without the files of an archive: so
 * what is archived is older than the longest backup.
 */
const AGE_MIN_MS = 86_400_000

/** What a run does with the archive in a directory. */
type Task = { readonly directory: string } & (
  | { readonly kind: 'archive'; readonly before: Date }
  | { readonly kind: 'check' | 'restore' }
)

/**
 * `main.ts archive --before DATE|--check|--restore DIRECTORY`: moves the bodies of documents that ended before a date to files of
 * a directory, reads each body of the archived documents, or puts all of them back into the database. It may run while the system
 * works, be killed and be repeated. Throws `StartError` or `Unavailable` with what to do.
 */
export const archive: Command = async (words, variables, output) => {
  const task = parseWords(words)
  const config = readConfig(VERIFY_SETTINGS, variables)
  await requireConfigured(task.directory, config.archive)
  const roles = await loadOperations(ARCHIVING_ROLES)
  if (task.kind === 'archive') await checkBefore(task.directory, roles, config, output)
  let problems = 0
  for (const role of roles)
    for (const archivable of role.archives ?? [])
      problems += await runTask(task, role, archivable, config, output)
  if (problems > 0)
    throw new StartError(`${problemsText(problems)}: docs/operators/archive.md says what to do`)
}

/** Throws `StartError` unless the directory is the one that the processes read, where they find what is archived. */
async function requireConfigured(directory: string, configured: string | undefined): Promise<void> {
  if (configured === undefined)
    throw new StartError(
      `set MULTIHUB_ARCHIVE to ${directory}, here and for the processes of payments and balances: they cannot read what is archived without it`,
    )
  if ((await realPathOf(configured)) !== (await realPathOf(directory)))
    throw new StartError(
      `the processes read ${configured} (MULTIHUB_ARCHIVE): name this directory, so that they find what is archived`,
    )
}

/**
 * Throws `StartError` or `Unavailable` for what would fail only when a document is due: a directory that cannot be written, databases
 * that do not exist, where opening them would create embedded ones, and keys that signed nothing in the ledger.
 */
async function checkBefore(
  directory: string,
  roles: readonly RoleOperations[],
  config: Config<typeof VERIFY_SETTINGS>,
  { printProgress }: CommandOutput,
): Promise<void> {
  await requireWritable(directory)
  const { journal } = readKeys(config, COMMAND_PURPOSES.archive)
  const { openSnapshot, nameOf } = databasesOf(config)
  const snapshot = await openSnapshot(roles, 'ordered')
  try {
    for (const role of roles)
      await role.checkSigner?.(readerOf(snapshot, nameOf(role), printProgress), journal)
  } finally {
    await snapshot.close()
  }
}

/** Throws `StartError` unless files can be made in the directory. It may be missing, but its parent may not: that is a wrong path. */
async function requireWritable(directory: string): Promise<void> {
  try {
    const is_made = (await stat(directory).catch(ignoreMissing)) !== undefined
    // The dot, because of a plain file.
    await access(`${is_made ? directory : dirname(directory)}/.`, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(
      `${directory} cannot be written (${systemErrorCode(error)}): mount it, or name a directory that this user can write`,
    )
  }
}

/** The path, without symbolic links if it can be followed. */
async function realPathOf(path: string): Promise<string> {
  return await realpath(path).catch(() => resolve(path))
}

/** Returns the number of problems, which it has printed. */
async function runTask(
  task: Task,
  role: RoleOperations,
  archivable: Archivable,
  config: Config<typeof VERIFY_SETTINGS>,
  output: CommandOutput,
): Promise<number> {
  const databases = databasesOf(config)
  const onSnapshot = async <T>(
    work: (subject: ArchiveSubject, readDocuments: ReadDocuments) => Promise<T>,
  ): Promise<T> => {
    // Before the store, whose writers it locks out for a moment.
    const snapshot = await databases.openSnapshot([role], 'ordered')
    const store = await databases.openStore(role, 'verify')
    try {
      const { directory } = task
      return await work(
        { role, store, archivable, output, directory },
        readerOf(snapshot, databases.nameOf(role), output.printProgress),
      )
    } finally {
      await store.close()
      await snapshot.close()
    }
  }
  if (task.kind === 'archive') {
    const keys = readKeys(config, COMMAND_PURPOSES.archive)
    const store = await databases.openStore(role, 'verify')
    let is_any_killed = false
    try {
      await archiveCollection({ role, store, archivable, output, keys, ...task })
      is_any_killed = (await listArchiveFiles(store, archivable.spec.name)).some(isOfKilledRun)
    } finally {
      await store.close()
    }
    // It reads all documents, so only when an earlier run left something.
    if (is_any_killed) await onSnapshot(forgetFiles)
    return 0
  }
  if (task.kind === 'check') return await onSnapshot(checkStubs)
  const problems = await onSnapshot(restoreStubs)
  // A second look: another run may have archived something since the first.
  if (problems === 0) await onSnapshot(forgetFiles)
  return problems
}

/** The words of the command. Throws `StartError` for others. */
function parseWords(words: readonly string[]): Task {
  const options = {
    before: { type: 'string' },
    check: { type: 'boolean' },
    restore: { type: 'boolean' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
    const [directory, ...others] = positionals
    if (directory !== undefined && others.length === 0 && Object.keys(values).length === 1) {
      if (values.before !== undefined) return { directory, kind: 'archive', before: parseDate(values.before) }
      return { directory, kind: values.check ? 'check' : 'restore' }
    }
  } catch (error) {
    if (error instanceof StartError) throw error
  }
  throw new StartError(`name what to do and one directory: ${USAGE}`)
}

/** The beginning of a day in UTC, at least 24 hours ago. Throws `StartError` for another text. */
function parseDate(text: string): Date {
  const date = new Date(text)
  if (
    !/^\d{4}-\d{2}-\d{2}$/.test(text) ||
    Number.isNaN(date.getTime()) ||
    date.toISOString().slice(0, 10) !== text
  )
    throw new StartError(`${text} is not a day such as 2026-01-31`)
  if (date.getTime() > clock.now_ms() - AGE_MIN_MS)
    throw new StartError(`${text} is too late: name a day that began 24 hours ago or earlier`)
  return date
}
