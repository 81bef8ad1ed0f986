import { readdir, rename, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ignoreMissing, makeDirectory, syncDirectory, systemErrorCode } from '#lib/base/files.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openEmbedded } from '../embedded.ts'
import type { RestoreTarget } from '../maintenance.ts'

const TIMEOUT_MS = 60_000

/** Restores into `<directory>.restoring`. When everything is in it, `finish` gives it the name `directory`. */
export async function openEmbeddedRestore(directory: string): Promise<RestoreTarget> {
  const unfinished = unfinishedOf(directory)
  if ((await readNames(directory)).length > 0)
    throw new Unavailable(
      `${directory} is not empty: stop all processes and move it away, or set another MULTIHUB_HOME`,
    )
  // Also an empty one: of two restores at once, only the one that creates it may write.
  if (!(await makeDirectory(unfinished)))
    throw new Unavailable(
      `${unfinished} is left of a restore that was not finished: delete it, unless that restore still runs`,
    )
  return {
    open: (database) => openEmbedded({ directory: join(unfinished, database), timeout_ms: TIMEOUT_MS }),
    async finish() {
      await replaceEmpty(directory, unfinished)
      await syncDirectory(dirname(directory))
    },
  }
}

/**
 * Throws `Unavailable` for a directory without databases whose restore is not finished: a process would begin with empty ones, in
 * which all that merchants have sent is unknown.
 */
export async function refuseUnfinishedRestore(directory: string): Promise<void> {
  const unfinished = unfinishedOf(directory)
  // What cannot be read is explained when it is opened. In this order: the restore may end between the two.
  const namesIn = (path: string) => readdir(path).catch(() => undefined)
  if ((await namesIn(directory))?.length || (await namesIn(unfinished)) === undefined) return
  throw new Unavailable(
    `the restore of ${directory} was not finished: delete ${basename(unfinished)} beside it and restore again, unless it still runs`,
  )
}

function unfinishedOf(directory: string): string {
  return `${directory}.restoring`
}

async function replaceEmpty(directory: string, unfinished: string): Promise<void> {
  try {
    await rmdir(directory).catch(ignoreMissing)
    await rename(unfinished, directory)
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOTEMPTY') throw error
    throw new Unavailable(
      `${directory} is not empty any more: a process was started during the restore; stop all processes, move ${directory} away, delete ${unfinished} and restore again`,
    )
  }
}

async function readNames(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(ignoreMissing)) ?? []
}
