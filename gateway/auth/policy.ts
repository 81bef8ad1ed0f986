import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { CredentialSettings, PublicApiVersion, UnsealedCredential } from './credential.ts'

/**
 * What a credential that has proved its secret may still be refused for, in the order of A1: broken settings 3007,
 * disabled 3004, blocked 3005, the caller's address 3006, the API version and the environment 3008.
 */
export function checkPolicy(
  { settings }: UnsealedCredential,
  versions: readonly PublicApiVersion[],
  addressOf: () => string | undefined,
): CredentialSettings {
  if (settings === undefined) throw new PublicError(3007)
  if (settings.status === 'disabled') throw new PublicError(3004)
  if (settings.status === 'blocked') throw new PublicError(3005)
  if (settings.allowlist !== undefined) {
    const address = addressOf()
    if (address === undefined || !settings.allowlist.contain(address)) throw new PublicError(3006)
  }
  if (!versions.includes(settings.version) || !settings.environment_granted) throw new PublicError(3008)
  return settings
}
