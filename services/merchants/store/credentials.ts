import type { Store } from '#lib/platform/store/store.ts'
import type { Credential } from '../domain/credential.ts'
import { type OwnedCollection, openOwnedCollection } from './registry-collection.ts'

/** The collection of credentials. */
export type CredentialCollection = OwnedCollection<Credential, number>

/** Opens the collection of credentials, keyed by `application_id`. */
export function openCredentials(store: Store): Promise<CredentialCollection> {
  return openOwnedCollection(store, 'credentials', 'application_id')
}
