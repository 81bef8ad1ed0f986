import { lstat, readdir, rmdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { ignoreMissing, systemErrorCode } from '#lib/base/files.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ROLES } from '#lib/role/role.ts'
import type { CommandOutput } from '../../app/run.ts'
import { MANIFEST_FILE, type Manifest, readManifest } from './manifest.ts'

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
 * begins: it may need their room.
 */
export async function deleteAbandoned({
  directory,
  printLine,
}: Pick<PrunedDirectory, 'directory' | 'printLine'>): Promise<void> {
  for (const path of await directoriesIn(directory))
    await leavingAlone(path, printLine, async () => {
      const names = await readdir(path)
      if (!(await isAbandoned(path, names))) return
      await deleteFiles(path, names)
      printLine(`deleted ${path}, a backup that was not completed`)
    })
}

/** Deletes the files of a backup that failed. Its directory stays. */
export async function deletePartial(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => CONTENT_NAME.test(name))
  for (const name of [MANIFEST_FILE, ...names]) await unlink(join(directory, name)).catch(ignoreMissing)
}

/**
 * Deletes the backups that newer ones replace. Call it only after a backup has succeeded. Whatever is not a complete backup of this
 * system is left alone, and printed when it looks like a damaged one, or cannot be read.
 */
export async function pruneBackups(pruned: PrunedDirectory): Promise<void> {
  const { directory, newest_began_at, printLine } = pruned
  const good: { readonly path: string; readonly began_at: Date; readonly files: readonly string[] }[] = []
  for (const path of await directoriesIn(directory))
    await leavingAlone(path, printLine, async () => {
      if (!(await readdir(path)).includes(MANIFEST_FILE)) return
      const manifest = await readGoodManifest(path, pruned)
      const began_at = new Date(manifest.began_at)
      const files = manifest.contents.map(({ file }) => file)
      if (began_at <= newest_began_at) good.push({ path, began_at, files })
    })
  for (const { path, began_at, files } of replacedBackups(good)) {
    // Without its manifest it is no backup, so a killed deletion leaves none that looks complete.
    await deleteFiles(path, [MANIFEST_FILE, ...files])
    printLine(`deleted ${path}, the backup of ${began_at.toISOString()}, which newer ones replace`)
  }
}

/** The directories beside each other, without links, which may lead anywhere. */
async function directoriesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name))
}

/** Does something with a directory, or prints why it is left alone: one that cannot be read must not keep the others. */
async function leavingAlone(
  path: string,
  printLine: CommandOutput['printLine'],
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act()
  } catch (error) {
    const code = systemErrorCode(error)
    if (!(error instanceof Unavailable) && code === undefined) throw error
    const reason = error instanceof Unavailable ? error.message : `${path} cannot be read (${code})`
    printLine(`left alone, and not counted as a backup: ${reason}`)
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
  if (names.length === 0 || !names.every((name) => CONTENT_NAME.test(name))) return false
  const files = await Promise.all(names.map((name) => lstat(join(path, name))))
  if (!files.every((file) => file.isFile())) return false
  const written_ms = Math.max(...files.map(({ mtimeMs }) => mtimeMs))
  return clock.now_ms() - written_ms > PARTIAL_MS
}

/** Deletes these files one after the other, and their directory unless somebody has put more into it. */
async function deleteFiles(path: string, names: readonly string[]): Promise<void> {
  for (const name of names) await unlink(join(path, name)).catch(ignoreMissing)
  await rmdir(path).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'ENOTEMPTY') throw error
  })
}
