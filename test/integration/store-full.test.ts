import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from '@jest/globals'
import { type Skip, skipWithout } from '../support/skip.ts'

const DISK = 'size=8m'

const mounted = await mountSmallDisk()

describe('the embedded store on a full disk', () => {
  if ('skip' in mounted) {
    test.skip(`a full disk: ${mounted.skip}`, () => {})
    return
  }
  afterAll(() => mounted.unmount())

  test('refuses writes and blobs, loses nothing, and continues when there is space again', async () => {
    const program = join(import.meta.dirname, 'store-full.child.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [program, mounted.directory])
    expect(stdout).toBe('whole\n')
  })
})

async function mountSmallDisk(): Promise<{ directory: string; unmount(): void } | Skip> {
  const directory = await mkdtemp(join(tmpdir(), 'store-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', directory], { stdio: 'pipe' })
  } catch (error) {
    await rm(directory, { recursive: true })
    return skipWithout(`a small disk cannot be mounted here (${String(error).split('\n')[0]})`)
  }
  return {
    directory,
    unmount() {
      execFileSync('umount', [directory])
      execFileSync('rmdir', [directory])
    },
  }
}
