import { readConfig } from '#lib/base/config/config.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { NOTIFIER_CONFIG } from './service.ts'
import { openNotifierStore } from './store/notifier-store.ts'
import { createDataCheck } from './use-cases/check-data.ts'
import { resealSecrets } from './use-cases/reseal-secrets.ts'
import { wakeRestored } from './use-cases/wake-restored.ts'

/** What the commands of an installation need of the notifier. */
export const operations: RoleOperations = {
  name: 'notifier',
  openCollections: openNotifierStore,
  checkData: async (store, _readDocuments, variables) =>
    createDataCheck(await openNotifierStore(store), readConfig(NOTIFIER_CONFIG, variables).retention_ms),
  afterRestore: async (store) => wakeRestored(await openNotifierStore(store)),
  async *reseal(store, readDocuments, keyring) {
    yield* resealSecrets(await openNotifierStore(store), { readDocuments, keyring })
  },
}
