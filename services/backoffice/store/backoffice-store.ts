import type { Store } from '#lib/store/store.ts'
import { openPrincipals } from './principals.ts'

/** All collections of the back office. */
export type BackofficeStore = Awaited<ReturnType<typeof openBackofficeStore>>

/** Opens the collections of the back office in the database of this service. */
export async function openBackofficeStore(store: Store) {
  return { principals: await openPrincipals(store) }
}
