import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
