import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '#lib/store/open.ts'
import { storeContract } from './store.contract.ts'

storeContract('embedded', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-contract-'))
  return {
    open: () => openStore({ database: 'orders', directory }),
    remove: () => rm(directory, { recursive: true, force: true }),
  }
})
