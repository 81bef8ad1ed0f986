import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { makeDirectory } from './files.ts'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-directory-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

test('creates missing directories for their owner only, and keeps existing ones', async () => {
  await chmod(home, 0o755)
  const path = join(home, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => makeDirectory(path)))
  expect([await modeOf(home), await modeOf(join(home, 'a')), await modeOf(path)]).toEqual([
    0o755, 0o700, 0o700,
  ])
})

test('throws the system error, also below a folder that cannot hold directories', async () => {
  await writeFile(join(home, 'file'), '')
  await expect(makeDirectory(join(home, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  await expect(makeDirectory(join(home, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  // Linux only: elsewhere the folder itself is missing, and the root of the disk is not ours to write.
  await expect(makeDirectory('/proc/nope/data')).rejects.toMatchObject({
    code: expect.stringMatching(/^(ENOENT|EACCES|EPERM|EROFS)$/),
  })
})
