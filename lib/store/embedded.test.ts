import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { storeSuite } from '../../test/suites/store.suite.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { openStore } from './open.ts'

storeSuite('embedded', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-contract-'))
  return {
    open: () => openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS }),
    remove: () => rm(directory, { recursive: true, force: true }),
  }
})

test('a blob whose whole directory is gone cannot be read, and is not absent', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-gone-'))
  const store = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
  const blobs = await store.blobs('files')
  expect(await blobs.get('one')).toBeUndefined()
  await rm(directory, { recursive: true })
  await expect(blobs.get('one')).rejects.toBeInstanceOf(Unavailable)
  await store.close()
})
