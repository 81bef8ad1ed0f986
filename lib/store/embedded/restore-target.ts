import { readdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ignoreMissing, makeDirectory, syncDirectory } from '#lib/base/files.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openEmbedded } from '../embedded.ts'
import type { RestoreTarget } from '../maintenance.ts'

const TIMEOUT_MS = 60_000

/** Restores into `<directory>.restoring`. When everything is in it, `finish` gives it the name `directory`. */
export async function openEmbeddedRestore(directory: string): Promise<RestoreTarget> {
  const unfinished = `${directory}.restoring`
  if ((await readNames(directory)).length > 0)
    throw new Unavailable(
      `${directory} is not empty: stop all processes and move it away, or set another MULTIHUB_HOME`,
    )
  if ((await readNames(unfinished)).length > 0)
    throw new Unavailable(`${unfinished} is left of a restore that was not finished: delete it`)
  await makeDirectory(unfinished)
  return {
    open: (database) => openEmbedded({ directory: join(unfinished, database), timeout_ms: TIMEOUT_MS }),
    async finish() {
      await rmdir(directory).catch(ignoreMissing)
      await rename(unfinished, directory)
      await syncDirectory(dirname(directory))
    },
  }
}

async function readNames(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(ignoreMissing)) ?? []
}
