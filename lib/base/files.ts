import { createReadStream } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'

/** The lines of a file, which may be larger than a text can be. Throws the system's error when it cannot be read. */
export function readLines(path: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
}

/** Makes the names in a directory durable: a file that was flushed can still lose its name at a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * The code of a system error, such as `ENOENT`, or `undefined`. It does not use `instanceof`: a test runner loads modules
 * into a realm of its own, whose `Error` is another class.
 */
export function systemErrorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** For `catch`: adds the path to the error of the system, which does not name an open file, and throws it. */
export function withPath(path: string): (error: unknown) => never {
  return (error) => {
    if (systemErrorCode(error) !== undefined) Object.assign(error as object, { path })
    throw error
  }
}

/** For `catch`: turns the error of a missing file into `undefined`, and throws every other. */
export function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== 'ENOENT') throw error
  return undefined
}

/**
 * Creates a directory and its missing parents, by default readable by their owner only. Their names survive a power cut. An existing
 * directory keeps its mode. Returns whether this call created the directory.
 * Throws the system's error. Node's own option `recursive` is not used: where no directory can be created, such as in
 * `/proc`, it never returns (seen with 24.21), and the process would hang at start without a message.
 */
export async function makeDirectory(path: string, mode = 0o700): Promise<boolean> {
  try {
    await makeDurable(path, mode)
    return true
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return false
    if (systemErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path), mode)
    return await makeDurable(path, mode).then(
      () => true,
      (again: unknown) => {
        // Another process may have created it meanwhile.
        if (systemErrorCode(again) !== 'EEXIST') throw again
        return false
      },
    )
  }
}

async function makeDurable(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode })
  await syncDirectory(dirname(path))
}
