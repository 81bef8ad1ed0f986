import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { ParsedSettings, PublicApiVersion, UnsealedCredential } from './credential.ts'

/**
 * Checks whether a credential with a verified signature may be used, in the order of A1: settings, status, allowlist, API
 * version and environment. Throws 3007 for invalid settings, 3004 for a disabled and 3005 for a blocked credential, 3006
 * for the caller's address, and 3008 for the API version or the environment.
 */
export function checkCredential(
  { settings }: UnsealedCredential,
  versions: readonly PublicApiVersion[],
  addressOf: () => string | undefined,
): ParsedSettings {
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
