import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createErasureLog } from '#lib/patterns/erasures.ts'
import { createArchiveFile } from '#lib/store/archive/archive-file.ts'
import { unchanged } from '../../operations/backup/encryption.ts'
import { writeFrames } from '../../operations/backup/frames.ts'
import { writePrivately } from '../../scripts/local.ts'
import { type Skip, skipWithout } from '../support/skip.ts'

const DISK_BYTES = 8 * 1024 ** 2
const PAGE_BYTES = 4_096

const mounted = await mountSmallDisk()

describe('on a full disk', () => {
  if ('skip' in mounted) {
    test.skip(`a full disk: ${mounted.skip}`, () => {})
    return
  }
  afterAll(() => mounted.unmount())

  test('the embedded store refuses writes and blobs, loses nothing, and continues when there is space again', async () => {
    const program = join(import.meta.dirname, 'store-full.child.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [program, mounted.directory])
    expect(stdout).toBe('whole\n')
  })

  // O11.3
  test('an erasure is refused whose line fits only in part', async () => {
    const path = join(mounted.directory, 'erasures.jsonl')
    await writeFile(path, '\n'.repeat(PAGE_BYTES - 20))
    await fill(mounted.directory)
    const erased = { kind: 'payment', merchant_id: '1001', id: 'p' } as const
    await expect(createErasureLog(path, testKeys('k').search).append(erased)).rejects.toMatchObject({
      code: 'ENOSPC',
    })
  })

  test('what a backup or an archive cannot write names its file, because the databases may be on another disk', async () => {
    await fill(mounted.directory)
    const path = join(mounted.directory, 'payments.payments.documents')
    await expect(writeFrames(path, piecesOf(Buffer.alloc(1)), unchanged)).rejects.toMatchObject({
      code: 'ENOSPC',
      path,
    })
    const file = await createArchiveFile(mounted.directory, 'payments')
    await expect(file.append([Buffer.alloc(1)])).rejects.toMatchObject({
      code: 'ENOSPC',
      path: join(mounted.directory, file.name),
    })
    await file.close()
  })

  // R1.2
  test('a start that cannot write demo.json leaves no part of it', async () => {
    const home = await mkdtemp(join(mounted.directory, 'home-'))
    await fill(mounted.directory)
    await expect(writePrivately(join(home, 'demo.json'), {})).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(await readdir(home)).toEqual([])
  })
})

async function* piecesOf(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

async function fill(directory: string): Promise<void> {
  await writeFile(join(directory, 'rest'), Buffer.alloc(DISK_BYTES)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOSPC') throw error
  })
}

async function mountSmallDisk(): Promise<{ directory: string; unmount(): void } | Skip> {
  const directory = await mkdtemp(join(tmpdir(), 'store-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', directory], { stdio: 'pipe' })
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
