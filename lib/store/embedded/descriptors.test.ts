import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const PROGRAM = join(import.meta.dirname, 'descriptors.fixture.ts')

test('an open that fails for lack of descriptors leaves none behind', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-descriptors-'))
  const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, PROGRAM, directory])
  expect(JSON.parse(stdout)).toEqual([
    ['data.mdb', false, 0],
    ['lock.mdb', false, 0],
    ['none', true, 0],
  ])
  await rm(directory, { recursive: true })
})
