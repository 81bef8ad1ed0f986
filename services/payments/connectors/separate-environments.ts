import { constantTimeEqual } from '#lib/base/crypto/hash.ts'
import type { ProviderAccount } from './provider-account.ts'

/**
 * The fields that two accounts of different environments share and must not: `base_url`, when one URL is the other one or
 * leads to it, and the names of equal credentials. The types keep the environments apart inside the process; this keeps
 * them apart in the configuration, where one URL or key could be written down for both (spec: What the service does, 7).
 */
export function sharedAcrossEnvironments(added: ProviderAccount, other: ProviderAccount): readonly string[] {
  if (added.environment === other.environment) return []
  const is_nested = leadsTo(added.base_url, other.base_url) || leadsTo(other.base_url, added.base_url)
  const others = Object.values(other.credentials).map((secret) => secret.reveal())
  const shared_names = Object.entries(added.credentials)
    .filter(([, secret]) => others.some((text) => constantTimeEqual(text, secret.reveal())))
    .map(([name]) => name)
  return is_nested ? ['base_url', ...shared_names] : shared_names
}

function leadsTo(base_url: string, url: string): boolean {
  return url === base_url || url.startsWith(`${base_url}/`)
}
