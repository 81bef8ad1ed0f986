import { readConfig } from '#lib/base/config/config.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { accountChecks } from './connectors/check-accounts.ts'
import { PAYMENTS_CONFIG } from './service.ts'
import { openPaymentsStore } from './store/payments-store.ts'
import { createDataCheck } from './use-cases/check-data.ts'
import { resealSecrets } from './use-cases/reseal-secrets.ts'

/** What the commands of an installation need of payments. */
export const operations: RoleOperations = {
  name: 'payments',
  openCollections: openPaymentsStore,
  checkData: async (store, readDocuments) => createDataCheck(await openPaymentsStore(store), readDocuments),
  async *reseal(store, readDocuments, keyring) {
    yield* resealSecrets(await openPaymentsStore(store), { readDocuments, keyring })
  },
  environmentChecks: (context) => accountChecks(readConfig(PAYMENTS_CONFIG, context.variables), context),
}
