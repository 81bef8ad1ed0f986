import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { Credential } from '../domain/credential.ts'
import { notFound } from '../domain/field-checks.ts'
import { parseNumericId } from '../domain/numeric-id.ts'
import type { MerchantsDeps } from './deps.ts'

/** Reads a credential. Refuses an empty id with 1005 and an unknown one with 3003. */
export async function getCredential({ store }: MerchantsDeps, application_id: string): Promise<Credential> {
  // A request without the id carries 0.
  if (application_id === '' || application_id === '0') throw fieldError(1005, 'application_id')
  const id = parseNumericId(application_id)
  const credential = id === undefined ? undefined : await store.credentials.get(id)
  if (!credential) throw notFound(3003, 'application_id')
  return credential
}
