import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '#lib/base/config/config.ts'
import { readKeys } from '#lib/base/config/key-settings.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { readLines, systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Erasures, NO_ERASURES, readErasures } from '#lib/patterns/erasures.ts'
import type { OperationRun } from '#lib/patterns/operation-runs.ts'
import type { CheckKeys, DataCheck, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import { COMMAND_LIMITS, createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { type Declarations, readDeclarations } from '#lib/store/declarations.ts'
import { unpackBody } from '#lib/store/embedded/record.ts'
import { BlobGone } from '#lib/store/errors.ts'
import type { Blobs, Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { type Command, type CommandOutput, problemsText } from '../../app/run.ts'
import { findMissingFiles, neededFilesText, readNeededFiles } from '../archive/archive-files.ts'
import {
  BACKUP_ORDER,
  COMMAND_PURPOSES,
  DATABASE_SETTINGS,
  databasesOf,
  loadOperations,
  VERIFY_SETTINGS,
} from '../databases.ts'
import { verify } from '../verify.ts'
import { ADOPTING_ROLES, adoptLaterFacts } from './adopt-later-facts.ts'
import { type ChangeBlocks, decryptWith } from './encryption.ts'
import { blobsOfFrames, digestFile, readBlocks, readFrames, withProgress } from './frames.ts'
import { type BackupContent, type Manifest, readManifest } from './manifest.ts'
import { beginRun, openOperationRuns, type RunFacts, succeededRun, writeRun } from './record-run.ts'

/** How many documents are written at once: together at most this many, and one, of the largest documents. */
const WRITES_MAX = 64

/**
 * Payments know what the ledger books before it does, so they have what was booked before the backup began, if the clocks were right.
 * What a run of `archive` finds is a day old at least: half a day is left for clocks that were wrong either way.
 */
const CLOCKS_MAY_DIFFER_MS = 43_200_000

/** The files of a backup, as they lie in its directory. */
interface BackupSource {
  readonly began_at: Date
  readonly directory: string
  readonly contents: readonly BackupContent[]
  readonly decrypt: ChangeBlocks
}

/**
 * Throws `Unavailable` unless the file is as it was written and its collection is declared, `StartError` when it cannot be
 * decrypted. Nothing may be restored before all files of a backup are checked.
 */
export async function checkContent(
  { directory, decrypt }: Pick<BackupSource, 'directory' | 'decrypt'>,
  { kind, name, role, file, bytes, sha256 }: BackupContent,
  { collections, blobs }: Declarations,
): Promise<void> {
  const is_known = kind === 'blobs' ? blobs.includes(name) : collections.some((spec) => spec.name === name)
  if (!is_known)
    throw new Unavailable(`this release has no collection ${name} of ${role}: use the release of the backup`)
  const path = join(directory, file)
  const found = await digestFile(path)
  if (found.bytes !== bytes || found.sha256 !== sha256)
    throw new Unavailable(`${path} is damaged: use another backup`)
  for await (const _first of decrypt(readBlocks(path))) break
}

/** Writes a file of a backup into an empty collection. Documents get new versions, and bytes need a document of the role. */
export async function loadContent(
  store: Store,
  { directory, decrypt }: Pick<BackupSource, 'directory' | 'decrypt'>,
  { role, kind, name, file, frames: total }: BackupContent,
  declarations: Declarations,
  printProgress: CommandOutput['printProgress'],
  {
    restoreDocument = (_collection, document) => document,
    openBlobCheck,
  }: Pick<RoleOperations, 'restoreDocument' | 'openBlobCheck'>,
): Promise<void> {
  const report = (count: number): void => printProgress(`${role}: ${name}: ${count} of ${total}`)
  const frames = withProgress(readFrames(join(directory, file), decrypt), report)
  const spec = declarations.collections.find((one) => one.name === name)
  if (kind === 'blobs') await loadBlobs(await store.blobs(name), frames, await openBlobCheck?.(store))
  else if (spec)
    await loadDocuments(await store.collection(spec), frames, (document) => restoreDocument(name, document))
}

async function loadDocuments(
  collection: Collection<object>,
  frames: AsyncIterable<Buffer>,
  restoreDocument: (document: object) => object | undefined,
): Promise<void> {
  const writes = new Set<Promise<unknown>>()
  let failure: unknown
  for await (const frame of frames) {
    const document = restoreDocument(unpackBody(frame))
    if (document === undefined) continue
    const write: Promise<unknown> = collection
      .insert(document)
      .catch((error: unknown) => {
        failure ??= error
      })
      .finally(() => writes.delete(write))
    writes.add(write)
    if (writes.size >= WRITES_MAX) await Promise.race(writes)
    if (failure !== undefined) break
  }
  await Promise.all(writes)
  if (failure !== undefined) throw failure
}

async function loadBlobs(
  blobs: Blobs,
  frames: AsyncGenerator<Buffer>,
  isNeeded: (id: string) => Promise<boolean> = async () => true,
): Promise<void> {
  for await (const { id, bytes } of blobsOfFrames(frames)) {
    try {
      if (await isNeeded(id)) await blobs.put(id, bytes)
      else await skip(bytes)
    } catch (error) {
      if (!(error instanceof BlobGone)) throw error
    }
  }
}

/** Reads a blob to its end, after which the next one begins. */
async function skip(bytes: AsyncIterable<unknown>): Promise<void> {
  for await (const _piece of bytes);
}

/**
 * `main.ts restore --erasures FILE|none [--identity FILE] [--incomplete] [--verify] DIRECTORY`: fills the empty databases of a
 * stopped system from a backup, and forgets again whoever was erased since (O11): `none` says that nobody was. Nothing is written
 * before every file of the backup was checked, and can be decrypted. No process starts on payments that lack what the ledger knows of
 * them, except with `--incomplete`. With `--verify` the result is checked too. Throws `StartError` or `Unavailable` with what to do.
 */
export const restore: Command = async (words, variables, output) => {
  const { printLine, printProgress } = output
  const { directory, erasures_file, identity_file, is_verified, is_incomplete_admitted } = parseWords(words)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const keys = readKeys(config, COMMAND_PURPOSES.restore)
  const erasures = await erasuresOf(erasures_file, keys.search)
  if (erasures_file !== 'none') printLine(`the list has ${erasures.count} erasures`)
  const manifest = await readManifest(directory, keys.journal)
  const { contents, began_at, system_name, consistency } = manifest
  if (system_name !== config.system_name)
    throw new StartError(
      `the backup is of the system ${system_name}: set MULTIHUB_SYSTEM_NAME to it, or name another backup`,
    )
  const source = {
    began_at: new Date(began_at),
    directory,
    contents,
    decrypt: await decryptWith(identity_file, manifest.recipients),
  }
  const roles = await loadOperations(BACKUP_ORDER)
  const contentsOf = (role: RoleOperations): readonly BackupContent[] =>
    contents.filter((content) => content.role === role.name)
  for (const role of roles) {
    const declarations = await readDeclarations(role.openCollections)
    for (const content of contentsOf(role)) await checkContent(source, content, declarations)
    printProgress(`${role.name}: the files are as they were written`)
  }
  const run = beginRun('restore')
  const { nameOf, openRestoreTarget } = databasesOf(config)
  const target = await openRestoreTarget(roles)
  const opened: OpenedRole[] = []
  try {
    for (const role of roles) {
      const store = await target.open(nameOf(role))
      opened.push({ role, store })
      // All collections, so that those which the backup does not have get their indexes too.
      await role.openCollections(store)
      const declarations = await readDeclarations(role.openCollections)
      for (const content of contentsOf(role)) {
        await loadContent(store, source, content, declarations, printProgress, role)
        printProgress(`${role.name}: ${content.name}: restored`)
      }
    }
    if (consistency === 'ordered') {
      const missing = await completePayments(opened, source, variables, keys, output)
      if (missing > 0 && !is_incomplete_admitted)
        throw new StartError(
          `${problemsText(missing)}: nothing was restored; docs/operators/backup.md says what to do before --incomplete`,
        )
    }
    for (const { role, store } of opened) {
      await role.afterRestore?.(store)
      const readDocuments = readerOfBackup(source, role.name)
      const erased = (await role.erase?.(store, readDocuments, erasures, keys)) ?? 0
      if (erased > 0) printLine(`${role.name}: ${erased} documents were erased again`)
      const needed = await readNeededFiles(role, readDocuments)
      if (needed.length > 0) printLine(neededFilesText(role.name, needed))
      for (const missing of await findMissingFiles(needed, config.archive))
        printLine(`${role.name}: ${missing}`)
      if (role.name === 'backoffice') await recordBackup(store, manifest, run)
    }
  } finally {
    for (const { store } of opened) await store.close()
  }
  await target.finish()
  await writeRun({ config, kind: 'restore', output }, succeededRun(run, factsOf(manifest)))
  printLine(`the backup of ${began_at} is restored`)
  if (!is_verified) return
  await verify([], variables, output)
  printLine(
    `for --heads use only log lines from before ${began_at}: what the log has of later batches is not in the backup`,
  )
}

/** What the run of a backup, and of its restore, covers. */
function factsOf({ contents, began_at }: Manifest): RunFacts {
  const bytes = contents.reduce((sum, content) => sum + content.bytes, 0)
  return { bytes: BigInt(bytes), covered_until: new Date(began_at) }
}

/**
 * Records in the restored database that this restore began, and that the backup succeeded: a backup is written before its run has
 * ended.
 */
async function recordBackup(store: Store, manifest: Manifest, restore_run: OperationRun): Promise<void> {
  const runs = await openOperationRuns(store)
  const began_at = new Date(manifest.began_at)
  const ended_at = new Date(manifest.ended_at)
  const stored = (await runs.list('backup')).find((one) => one.began_at.getTime() === began_at.getTime())
  const begun = stored ?? { ...beginRun('backup'), release: manifest.version, began_at }
  await runs.record({ ...begun, ended_at, succeeded_at: ended_at, ...factsOf(manifest) })
  await runs.record(restore_run)
}

const USAGE = 'main.ts restore --erasures FILE|none [--identity FILE] [--incomplete] [--verify] DIRECTORY'

/** The words of the command. Throws `StartError` for others. */
function parseWords(words: readonly string[]) {
  const options = {
    verify: { type: 'boolean' },
    incomplete: { type: 'boolean' },
    erasures: { type: 'string' },
    identity: { type: 'string' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
    const [directory, ...others] = positionals
    const {
      verify: is_verified = false,
      incomplete: is_incomplete_admitted = false,
      erasures: erasures_file,
      identity: identity_file,
    } = values
    if (directory !== undefined && others.length === 0 && erasures_file !== undefined)
      return { directory, erasures_file, identity_file, is_verified, is_incomplete_admitted }
  } catch {
    // An option that is not known, or without its value.
  }
  throw new StartError(
    `name the directory of a backup and the list of erasures since, or none: ${USAGE} (docs/operators/backup.md)`,
  )
}

/** The list of erasures. Throws `StartError` when it cannot be read or is none. */
async function erasuresOf(path: string, search: Signer): Promise<Erasures> {
  if (path === 'none') return NO_ERASURES
  try {
    return await readErasures(readLines(path), search)
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error
    throw new StartError(`the list of erasures ${path} cannot be read (${systemErrorCode(error)})`)
  }
}

/** A role and its database in the target of a restore. */
interface OpenedRole {
  readonly role: RoleOperations
  readonly store: Store
}

/**
 * Adds to the payments what support and the ledger know of them, which were read later. Prints each fact. Returns how many
 * could not be added, with the reasons why documents could not be read.
 */
async function completePayments(
  opened: readonly OpenedRole[],
  source: BackupSource,
  variables: Parameters<Command>[1],
  keys: CheckKeys,
  { printLine }: CommandOutput,
): Promise<number> {
  const checks = new Map<RoleName, DataCheck>()
  const { archive } = readConfig(DATABASE_SETTINGS, variables)
  const archive_reader = createArchiveReader(archive, COMMAND_LIMITS)
  for (const { role, store } of opened) {
    if (!ADOPTING_ROLES.includes(role.name)) continue
    const whole = withArchive(store, archive_reader)
    const check = await role.checkData?.(whole, readerOfBackup(source, role.name), variables, keys)
    if (check) checks.set(role.name, check)
  }
  let missing = 0
  const report: Parameters<typeof adoptLaterFacts>[1] = (role, subject, is_added, reason) => {
    const fact = `${role}: ${subject} happened while the backup ran`
    if (is_added) return printLine(`${fact}, and is added`)
    missing += 1
    printLine(`PROBLEM  ${fact}, and cannot be added${reason === undefined ? '' : `: ${reason}`}`)
  }
  const archived_since = new Date(source.began_at.getTime() - CLOCKS_MAY_DIFFER_MS)
  const unreadable = await adoptLaterFacts(checks, report, archived_since)
  for (const text of unreadable)
    printLine(`PROBLEM  ${text}: what it says of payments while the backup ran cannot be added`)
  return missing + unreadable.length
}

/** Reads the documents of a role from the files of a backup. */
function readerOfBackup({ directory, contents, decrypt }: BackupSource, role: RoleName): ReadDocuments {
  return async function* readDocuments<D extends object>({ name }: CollectionSpec): AsyncGenerator<D> {
    const content = contents.find((one) => one.role === role && one.name === name && one.kind === 'documents')
    if (content === undefined) return
    // The documents are what the role has stored under this declaration.
    for await (const frame of readFrames(join(directory, content.file), decrypt)) yield unpackBody(frame) as D
  }
}
