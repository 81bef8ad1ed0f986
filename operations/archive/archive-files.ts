import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import { ARCHIVE_FILES, type ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import type { Store, Stored } from '#lib/store/store.ts'

/** A file that archived documents of a role may need. */
export type NeededFile = Pick<ArchiveFileRecord, 'collection' | 'file' | 'began_at' | 'bytes' | 'ended_at'>

/** The files of the archives of a role. A role without archives needs none. */
export async function readNeededFiles(
  { archives = [] }: Pick<RoleOperations, 'archives'>,
  readDocuments: ReadDocuments,
): Promise<readonly NeededFile[]> {
  if (archives.length === 0) return []
  const files: NeededFile[] = []
  for await (const file of readDocuments<ArchiveFileRecord>(ARCHIVE_FILES)) files.push(file)
  return files
}

/** Says which files belong to a backup besides it, with at most as many names as a line can hold. */
export function neededFilesText(role: string, files: readonly NeededFile[]): string {
  const names = files.slice(0, NAMES_MAX).map(({ file }) => file)
  const more = files.length > NAMES_MAX ? `, and ${files.length - NAMES_MAX} more` : ''
  return `${role}: archived documents need ${names.join(', ')}${more} of MULTIHUB_ARCHIVE`
}

const NAMES_MAX = 10

/** Throws `StartError` when the directory is set and cannot be read, or lacks a file that archived documents of the role need. */
export async function checkArchiveFiles(
  { archives = [] }: Pick<RoleOperations, 'archives'>,
  store: Store,
  directory: string | undefined,
): Promise<void> {
  if (archives.length === 0) return
  if (directory !== undefined)
    await access(directory, constants.R_OK).catch((error: unknown) => {
      throw new StartError(`${directory} (MULTIHUB_ARCHIVE) cannot be read (${systemErrorCode(error)})`)
    })
  for (const { spec } of archives) {
    const [missing] = await findMissingFiles(await listArchiveFiles(store, spec.name), directory)
    if (missing !== undefined) throw new StartError(`${missing}: docs/operators/archive.md says what to do`)
  }
}

/** The files of the archives of one collection, in the order of their days. */
export async function listArchiveFiles(
  store: Store,
  collection: string,
): Promise<readonly Stored<ArchiveFileRecord>[]> {
  const files = await store.collection<ArchiveFileRecord>(ARCHIVE_FILES)
  const found: Stored<ArchiveFileRecord>[] = []
  for (let page: readonly Stored<ArchiveFileRecord>[]; ; ) {
    page = await files.find(
      'key',
      { equals: [collection] },
      { limit: FILES_PAGE, after: found.at(-1) && { ...found.at(-1) } },
    )
    found.push(...page)
    if (page.length < FILES_PAGE) return found
  }
}

const FILES_PAGE = 1_000

/** A sentence per file that the directory lacks or has only in part, and one for all of them without a directory. */
export async function findMissingFiles(
  files: readonly NeededFile[],
  directory: string | undefined,
): Promise<readonly string[]> {
  if (files.length === 0) return []
  if (directory === undefined)
    return [`documents are archived in ${files.length} files, and MULTIHUB_ARCHIVE names no directory`]
  const missing: string[] = []
  for (const { file, bytes = 0 } of files) {
    const path = join(directory, file)
    try {
      await access(path, constants.R_OK)
      const { size } = await stat(path)
      if (size < bytes) missing.push(`${path} has ${size} bytes instead of ${bytes}`)
    } catch (error) {
      missing.push(`${path} cannot be read (${systemErrorCode(error)})`)
    }
  }
  return missing
}
