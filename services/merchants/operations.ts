import type { RoleOperations } from '#lib/role/operations.ts'
import { openMerchantsStore } from './store/merchants-store.ts'
import { createDataCheck } from './use-cases/check-data.ts'
import { checkMasterKeys } from './use-cases/check-master-keys.ts'
import { resealSecrets } from './use-cases/reseal-secrets.ts'
import { skipIssuedIds } from './use-cases/skip-issued-ids.ts'

/** What the commands of an installation need of the registry. */
export const operations: RoleOperations = {
  name: 'merchants',
  openCollections: openMerchantsStore,
  afterRestore: async (store) => skipIssuedIds((await openMerchantsStore(store)).issued_ids),
  checkKeys: async (store, keyring) => checkMasterKeys({ store: await openMerchantsStore(store), keyring }),
  async *reseal(store, readDocuments, keyring) {
    yield* resealSecrets(await openMerchantsStore(store), { readDocuments, keyring })
  },
  checkData: async (store) => createDataCheck(await openMerchantsStore(store)),
}
