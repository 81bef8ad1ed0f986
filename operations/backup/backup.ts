import { readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { type Config, readConfig } from '#lib/base/config/config.ts'
import { readKeys } from '#lib/base/config/key-settings.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { makeDirectory } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Body } from '#lib/store/check.ts'
import { type Declarations, readDeclarations } from '#lib/store/declarations.ts'
import { packBody } from '#lib/store/embedded/record.ts'
import type { DatabaseSnapshot } from '#lib/store/maintenance.ts'
import type { Command, CommandOutput } from '../../app/run.ts'
import { neededFilesText, readNeededFiles } from '../archive/archive-files.ts'
import {
  BACKUP_ORDER,
  COMMAND_PURPOSES,
  type DATABASE_SETTINGS,
  databasesOf,
  loadOperations,
  readerOf,
  VERIFY_SETTINGS,
} from '../databases.ts'
import { type ChangeBlocks, encryptTo } from './encryption.ts'
import { framesOfBlobs, withProgress, writeFrames } from './frames.ts'
import { type BackupContent, writeManifest } from './manifest.ts'
import { deleteAbandoned, deletePartial, pruneBackups } from './prune.ts'
import { recordRun } from './record-run.ts'

/** Where the files of a backup are written. */
interface BackupTarget {
  readonly directory: string
  /** The public keys of age to which the files are encrypted by `encrypt`. */
  readonly recipients: readonly string[]
  readonly encrypt: ChangeBlocks
  /** Gets the path of each file that this run has created. */
  readonly onCreated?: (path: string) => void
}

/**
 * Writes one file per collection, in the order of the declarations, then one per name of blobs. Throws `Unavailable` for a
 * database with a collection that is not declared, because the backup would lack it.
 */
export async function* dumpDatabase(
  role: string,
  { collections, blobs }: Declarations,
  database: DatabaseSnapshot,
  target: BackupTarget,
  printProgress: CommandOutput['printProgress'],
): AsyncGenerator<BackupContent> {
  const declared = new Set([...collections.map(({ name }) => name), ...blobs])
  const unknown = (await database.listStored()).find((name) => !declared.has(name))
  if (unknown !== undefined)
    throw new Unavailable(
      `the database of ${role} has a collection ${unknown}, which this release does not know: back up with the release that runs`,
    )
  for (const spec of collections) {
    const place = { role, kind: 'documents', name: spec.name } as const
    const report = (count: number): void => printProgress(`${role}: ${spec.name}: ${count} documents`)
    const documents = withProgress(packAll(database.readDocuments(spec)), report)
    yield await writeContent(target, place, documents)
  }
  for (const name of blobs)
    yield await writeContent(target, { role, kind: 'blobs', name }, framesOfBlobs(database.readBlobs(name)))
}

async function writeContent(
  { directory, recipients, encrypt, onCreated }: BackupTarget,
  place: Pick<BackupContent, 'role' | 'kind' | 'name'>,
  frames: AsyncIterable<Uint8Array>,
): Promise<BackupContent> {
  const file = `${place.role}.${place.name}.${place.kind}${recipients.length > 0 ? '.age' : ''}`
  return { ...place, file, ...(await writeFrames(join(directory, file), frames, encrypt, onCreated)) }
}

async function* packAll(documents: AsyncIterable<Body>): AsyncGenerator<Uint8Array> {
  for await (const document of documents) yield packBody(document)
}

/**
 * `main.ts backup [--recipient KEY|none] [--prune] DIRECTORY`: writes all databases of a running or stopped system into a new
 * directory, each file encrypted to the public keys of age that are named. A directory without the manifest, which comes last and
 * has no data of the databases, is not a backup. With `--prune` the partial backups beside it are deleted before, and then those that
 * newer ones replace. Throws `StartError` or `Unavailable` with what to do; a backup that failed leaves nothing that it created.
 */
export const backUp: Command = async (words, variables, output) => {
  const { directory, recipients, is_pruning } = parseWords(words)
  const encrypt = await encryptTo(recipients)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const { journal: signer } = readKeys(config, COMMAND_PURPOSES.backup)
  const is_created = await createEmpty(directory)
  const { system_name } = config
  const { printLine } = output
  const beside = dirname(resolve(directory))
  let newest_began_at = new Date(0)
  let unreadable: readonly string[] = []
  await recordRun({ config, kind: 'backup', output }, async (covered_until) => {
    // Another run may write to the same directory, so only what this one created is deleted.
    const files: string[] = []
    const target = { directory, recipients, encrypt, onCreated: (path: string) => void files.push(path) }
    try {
      if (is_pruning) unreadable = await deleteAbandoned({ directory: beside, printLine })
      const bytes = await writeBackup(target, covered_until, config, signer, output)
      newest_began_at = covered_until
      return { bytes: BigInt(bytes), covered_until }
    } catch (error) {
      // They are no backup, and the next one may need their room.
      await deletePartial({ files, directory: is_created ? directory : undefined }, output.printProgress)
      throw error
    }
  })
  if (!is_pruning) return
  await pruneBackups({
    directory: beside,
    system_name,
    newest_began_at,
    signer,
    printLine,
    unreadable,
  })
}

/** Returns the size of the files in bytes. */
async function writeBackup(
  target: BackupTarget,
  began_at: Date,
  config: Config<typeof DATABASE_SETTINGS>,
  signer: Signer,
  { printLine, printProgress }: CommandOutput,
): Promise<number> {
  const { directory, recipients } = target
  const roles = await loadOperations(BACKUP_ORDER)
  const { nameOf, openSnapshot } = databasesOf(config)
  const snapshot = await openSnapshot(roles, 'instant')
  const { store, consistency } = snapshot
  if (consistency === 'ordered')
    printProgress('the server has no snapshots: the databases are read one after the other')
  const contents: BackupContent[] = []
  try {
    // Under the keys of another system the manifest would be refused by `restore`, when it is too late.
    for (const role of roles)
      await role.checkSigner?.(readerOf(snapshot, nameOf(role), printProgress), signer)
    for (const role of roles) {
      const declarations = await readDeclarations(role.openCollections)
      const database = snapshot.database(nameOf(role))
      const dumped = dumpDatabase(role.name, declarations, database, target, printProgress)
      for await (const content of dumped) {
        contents.push(content)
        printProgress(`${role.name}: ${content.name}: ${content.bytes} bytes`)
      }
      const needed = await readNeededFiles(role, readerOf(snapshot, nameOf(role), printProgress))
      if (needed.length > 0) printLine(neededFilesText(role.name, needed))
    }
  } finally {
    await snapshot.close()
  }
  const { version } = readBuildInfo()
  const { system_name } = config
  const times = { began_at: began_at.toISOString(), ended_at: now().toISOString() }
  const manifest = { version, system_name, store, consistency, ...times, recipients, contents }
  await writeManifest(directory, manifest, signer, target.onCreated)
  const bytes = contents.reduce((sum, content) => sum + content.bytes, 0)
  printLine(`the backup in ${directory} is complete: ${contents.length} files, ${bytes} bytes`)
  return bytes
}

/** The words of the command. Throws `StartError` for others. */
function parseWords(words: readonly string[]) {
  const options = { recipient: { type: 'string', multiple: true }, prune: { type: 'boolean' } } as const
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
    const [directory, ...others] = positionals
    const recipients = (values.recipient ?? []).filter((recipient) => recipient !== 'none')
    if (directory !== undefined && others.length === 0)
      return { directory, recipients, is_pruning: values.prune === true }
  } catch {
    // An option that is not known, or without its value.
  }
  throw new StartError('name one new directory: main.ts backup [--recipient KEY|none] [--prune] DIRECTORY')
}

/** Returns whether this run created the directory. Throws `StartError` unless it is empty. */
async function createEmpty(directory: string): Promise<boolean> {
  const is_created = await makeDirectory(directory)
  if ((await readdir(directory)).length > 0)
    throw new StartError(`${directory} is not empty: name a new directory`)
  return is_created
}
