import type { Store } from '#lib/store/store.ts'
import type { Credential } from '../domain/credential.ts'
import { type OwnedCollection, openOwnedCollection, ownedSpec } from './registry-collection.ts'

/** The collection of credentials. */
export type CredentialCollection = OwnedCollection<Credential, number>

/** The declaration of the credentials, keyed by `application_id`. */
export const CREDENTIALS = ownedSpec('credentials', 'application_id')

/** Opens the collection of credentials. */
export function openCredentials(store: Store): Promise<CredentialCollection> {
  return openOwnedCollection(store, CREDENTIALS)
}
