import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from '#lib/base/config/config.ts'
import { makeDirectory } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { Body } from '#lib/store/check.ts'
import { type Declarations, readDeclarations } from '#lib/store/declarations.ts'
import { packBody } from '#lib/store/embedded/record.ts'
import type { DatabaseSnapshot } from '#lib/store/maintenance.ts'
import { openSnapshot } from '#lib/store/open.ts'
import { readBuildInfo } from '../../app/build-info.ts'
import { PROCESS_SETTINGS } from '../../app/process-settings.ts'
import { databaseOf } from '../../app/roles.ts'
import type { CommandOutput } from '../../app/run.ts'
import { loadOperations, placeOf } from '../load-operations.ts'
import { framesOfBlobs, withProgress, writeFrames } from './frames.ts'
import { type BackupContent, writeManifest } from './manifest.ts'

/** A database of a backup and where to write it. */
interface DumpedDatabase {
  readonly role: string
  readonly declarations: Declarations
  readonly database: DatabaseSnapshot
  readonly directory: string
  printProgress(line: string): void
}

/**
 * Writes one file per collection, in the order of the declarations, then one per name of blobs. Throws `Unavailable` for a
 * database with a collection that is not declared, because the backup would lack it.
 */
export async function* dumpDatabase({
  role,
  declarations: { collections, blobs },
  database,
  directory,
  printProgress,
}: DumpedDatabase): AsyncGenerator<BackupContent> {
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
    yield await writeContent(directory, place, documents)
  }
  for (const name of blobs)
    yield await writeContent(
      directory,
      { role, kind: 'blobs', name },
      framesOfBlobs(database.readBlobs(name)),
    )
}

async function writeContent(
  directory: string,
  place: Pick<BackupContent, 'role' | 'kind' | 'name'>,
  frames: AsyncIterable<Uint8Array>,
): Promise<BackupContent> {
  const file = `${place.role}.${place.name}.${place.kind}`
  return { ...place, file, ...(await writeFrames(join(directory, file), frames)) }
}

async function* packAll(documents: AsyncIterable<Body>): AsyncGenerator<Uint8Array> {
  for await (const document of documents) yield packBody(document)
}

const { mongodb_uri, system_name, start_wait_ms, home } = PROCESS_SETTINGS

/** The settings of the commands that work on the databases of all roles. */
export const DATABASE_SETTINGS = { mongodb_uri, system_name, start_wait_ms, home }

/**
 * The order in which the databases are read where the server has no snapshots: a role comes after the roles that drop an
 * effect once this role has made it durable. docs/operators/backup.md has the reasons.
 */
export const BACKUP_ORDER: readonly RoleName[] = [
  'gateway',
  'payments',
  'support',
  'attachments',
  'notifier',
  'balances',
  'merchants',
  'sandbox',
]

/**
 * `node main.ts backup DIRECTORY`: writes all databases of a running or stopped system into a new directory. A directory
 * without the manifest, which comes last, is not a backup. Throws `StartError` or `Unavailable` with what to do.
 */
export async function backUp(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine, printProgress }: CommandOutput,
): Promise<void> {
  const [directory] = words
  if (directory === undefined || words.length > 1 || directory.startsWith('-'))
    throw new StartError('name one new directory: node main.ts backup DIRECTORY')
  const config = readConfig(DATABASE_SETTINGS, variables)
  await createEmpty(directory)
  const began_at = now().toISOString()
  const roles = await loadOperations(BACKUP_ORDER)
  const nameOf = (role: RoleOperations): string => databaseOf(config.system_name, role.name)
  const snapshot = await openSnapshot(placeOf(config), roles.map(nameOf), 'instant')
  const { store, consistency } = snapshot
  if (consistency === 'ordered')
    printProgress('the server has no snapshots: the databases are read one after the other')
  const contents: BackupContent[] = []
  try {
    for (const role of roles) {
      const declarations = await readDeclarations(role.openCollections)
      const database = snapshot.database(nameOf(role))
      const dumped = { role: role.name, declarations, database, directory, printProgress }
      for await (const content of dumpDatabase(dumped)) {
        contents.push(content)
        printProgress(`${role.name}: ${content.name}: ${content.bytes} bytes`)
      }
    }
  } finally {
    await snapshot.close()
  }
  const { version } = readBuildInfo()
  const { system_name } = config
  const ended_at = now().toISOString()
  await writeManifest(directory, { version, system_name, store, consistency, began_at, ended_at, contents })
  const bytes = contents.reduce((sum, content) => sum + content.bytes, 0)
  printLine(`the backup in ${directory} is complete: ${contents.length} files, ${bytes} bytes`)
}

async function createEmpty(directory: string): Promise<void> {
  await makeDirectory(directory)
  if ((await readdir(directory)).length > 0)
    throw new StartError(`${directory} is not empty: name a new directory`)
}
