import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'

test('the image of the released protos reports a changed type', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-protos-'))
  try {
    for (const part of ['proto', 'buf.yaml'])
      await cp(join(ROOT, part), join(folder, part), { recursive: true })
    const money = join(folder, 'proto/multihub/common/v1/money.proto')
    await writeFile(money, (await readFile(money, 'utf8')).replace('int64 minor', 'string minor'))
    const { status, stdout } = spawnSync(
      join(ROOT, 'node_modules/.bin/buf'),
      ['breaking', '--against', join(ROOT, 'proto/released.binpb')],
      { cwd: folder, encoding: 'utf8' },
    )
    expect(stdout).toMatch(/money\.proto.*minor.*int64.*string/)
    expect(status).toBe(100)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
