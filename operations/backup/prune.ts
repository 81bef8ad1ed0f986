import { lstat, readdir, rmdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { ignoreMissing, systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ROLES } from '#lib/role/role.ts'
import type { CommandOutput } from '../../app/run.ts'
import { MANIFEST_DRAFT, MANIFEST_FILE, type Manifest, readManifest } from './manifest.ts'

const DAYS_KEPT = 7
const WEEKS_KEPT = 4
const DAY_MS = 86_400_000
/** 1970-01-01 was a Thursday, the fourth day of its week. */
const DAYS_FROM_MONDAY = 3
/** Nothing was written for so long to a backup without a manifest: its process was killed. */
const PARTIAL_MS = DAY_MS

/** The name of a file with data, as `backup` gives it. */
const CONTENT_NAME = new RegExp(`^(${ROLES.join('|')})\\.[a-z0-9_-]+\\.(documents|blobs)(\\.age)?$`)

/** The directory of the backups, the newest one, and who made it. Only backups of the same system are touched. */
export interface PrunedDirectory {
  readonly directory: string
  readonly system_name: string
  /** When the newest backup began. A backup that began later, such as by a wrong clock, is left alone. */
  readonly newest_began_at: Date
  readonly signer: Pick<Signer, 'verify'>
  readonly printLine: CommandOutput['printLine']
  /** The directories that `deleteAbandoned` has printed. */
  readonly unreadable: readonly string[]
}

/**
 * The backups that newer ones replace. Kept are the newest of each of the 7 newest days that have one, and of each of the 4 newest
 * weeks (Monday to Sunday, UTC). So the newest of all is always kept, and days without a backup delete nothing.
 */
export function replacedBackups<Backup extends { readonly began_at: Date }>(
  backups: readonly Backup[],
): readonly Backup[] {
  const newest_first = backups.toSorted((one, other) => other.began_at.getTime() - one.began_at.getTime())
  const dayOf = ({ began_at }: Backup): number => Math.floor(began_at.getTime() / DAY_MS)
  const weekOf = (backup: Backup): number => Math.floor((dayOf(backup) + DAYS_FROM_MONDAY) / 7)
  const kept = new Set([
    ...newestPerPeriod(newest_first, DAYS_KEPT, dayOf),
    ...newestPerPeriod(newest_first, WEEKS_KEPT, weekOf),
  ])
  return newest_first.filter((backup) => !kept.has(backup))
}

function newestPerPeriod<Backup>(
  newest_first: readonly Backup[],
  periods_max: number,
  periodOf: (backup: Backup) => number,
): readonly Backup[] {
  const newest = new Map<number, Backup>()
  for (const backup of newest_first) {
    if (newest.size === periods_max) break
    const period = periodOf(backup)
    if (!newest.has(period)) newest.set(period, backup)
  }
  return [...newest.values()]
}

/**
 * Deletes the partial backups of a directory to which nothing was written for a day. They are no backups, so call it before a new one
 * begins: it may need their room. Returns the directories that it printed because they cannot be read.
 */
export async function deleteAbandoned({
  directory,
  printLine,
}: Pick<PrunedDirectory, 'directory' | 'printLine'>): Promise<readonly string[]> {
  const unreadable: string[] = []
  for (const path of await directoriesIn(directory)) {
    let abandoned: readonly string[] = []
    const is_read = await leavingAlone(path, printLine, async () => {
      const names = await readdir(path)
      if (await isAbandoned(path, names)) abandoned = names
    })
    if (!is_read) unreadable.push(path)
    if (abandoned.length > 0)
      await deleteBackup(path, abandoned, 'a backup that was not completed', printLine)
  }
  return unreadable
}

/**
 * Deletes what a failed backup created: its files, the manifest first, and its directory unless something else is in it. What
 * cannot be deleted is printed and not thrown, because the caller has the cause of the failure to throw.
 */
export async function deletePartial(
  { files, directory }: { readonly files: readonly string[]; readonly directory: string | undefined },
  printProgress: CommandOutput['printProgress'],
): Promise<void> {
  const print = (path: string) => (error: unknown) => {
    const code = systemErrorCode(error)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY')
      printProgress(`cannot delete ${path} of the failed backup (${code})`)
  }
  for (const path of files.toReversed()) await unlink(path).catch(print(path))
  if (directory !== undefined) await rmdir(directory).catch(print(directory))
}

/**
 * Deletes the backups that newer ones replace. Call it only after a backup has succeeded. Whatever is not a complete backup of this
 * system is left alone, and printed when it looks like a damaged one, or cannot be read. Throws `StartError` at the end if one
 * could not be deleted.
 */
export async function pruneBackups(pruned: PrunedDirectory): Promise<void> {
  const { directory, newest_began_at, printLine, unreadable } = pruned
  const good: { readonly path: string; readonly began_at: Date; readonly files: readonly string[] }[] = []
  const paths = (await directoriesIn(directory)).filter((path) => !unreadable.includes(path))
  for (const path of paths)
    await leavingAlone(path, printLine, async () => {
      if (!(await readdir(path)).includes(MANIFEST_FILE)) return
      const manifest = await readGoodManifest(path, pruned)
      const began_at = new Date(manifest.began_at)
      const files = manifest.contents.map(({ file }) => file)
      if (began_at <= newest_began_at) good.push({ path, began_at, files })
    })
  const stuck: string[] = []
  for (const { path, began_at, files } of replacedBackups(good)) {
    // Without its manifest it is no backup, so a killed deletion leaves none that looks complete.
    const names = [MANIFEST_FILE, ...files]
    const description = `the backup of ${began_at.toISOString()}, which newer ones replace`
    if (!(await deleteBackup(path, names, description, printLine))) stuck.push(path)
  }
  if (stuck.length > 0)
    throw new StartError(
      `the new backup is complete, but old ones cannot be deleted: ${stuck.join(', ')}; delete them yourself`,
    )
}

/** The directories beside each other, without links, which may lead anywhere. */
async function directoriesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name))
}

/**
 * Reads a directory, or prints why it is left alone: one that cannot be read must not keep the others. Returns whether it was
 * read.
 */
async function leavingAlone(
  path: string,
  printLine: CommandOutput['printLine'],
  read: () => Promise<void>,
): Promise<boolean> {
  try {
    await read()
    return true
  } catch (error) {
    const code = systemErrorCode(error)
    if (!(error instanceof Unavailable) && code === undefined) throw error
    const reason = error instanceof Unavailable ? error.message : `${path} cannot be read (${code})`
    printLine(`left alone, and not counted as a backup: ${reason}`)
    return false
  }
}

/** The manifest of a backup of this system whose files are all there in their sizes. Throws `Unavailable` for any other. */
async function readGoodManifest(path: string, { signer, system_name }: PrunedDirectory): Promise<Manifest> {
  const manifest = await readManifest(path, signer)
  if (manifest.system_name !== system_name)
    throw new Unavailable(`${path} is a backup of the system ${manifest.system_name}`)
  for (const { file, bytes } of manifest.contents) {
    const found = await stat(join(path, file)).catch(ignoreMissing)
    if (found?.size !== bytes) throw new Unavailable(`${join(path, file)} is missing or has another size`)
  }
  return manifest
}

/** Whether a directory has files of a backup and nothing else, and nothing was written to them for a day. */
async function isAbandoned(path: string, names: readonly string[]): Promise<boolean> {
  if (names.length === 0) return false
  if (!names.every((name) => name === MANIFEST_DRAFT || CONTENT_NAME.test(name))) return false
  const files = await Promise.all(names.map((name) => lstat(join(path, name))))
  if (!files.every((file) => file.isFile())) return false
  // A copy of a backup can have the old times of its content, but not of its inodes.
  const written_ms = Math.max(...files.flatMap(({ mtimeMs, ctimeMs }) => [mtimeMs, ctimeMs]))
  return clock.now_ms() - written_ms > PARTIAL_MS
}

/** Deletes a backup, and prints that it is deleted, or cannot be: one must not keep the others. Returns whether it is deleted. */
async function deleteBackup(
  path: string,
  names: readonly string[],
  description: string,
  printLine: CommandOutput['printLine'],
): Promise<boolean> {
  try {
    await deleteFiles(path, names)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === undefined) throw error
    printLine(`cannot delete ${path} (${code}), ${description}`)
    return false
  }
  printLine(`deleted ${path}, ${description}`)
  return true
}

/** Deletes these files one after the other, and their directory unless somebody has put more into it. Another run may do the same. */
async function deleteFiles(path: string, names: readonly string[]): Promise<void> {
  for (const name of names) await unlink(join(path, name)).catch(ignoreMissing)
  await rmdir(path).catch((error: unknown) => {
    const code = systemErrorCode(error)
    if (code !== 'ENOTEMPTY' && code !== 'ENOENT') throw error
  })
}
