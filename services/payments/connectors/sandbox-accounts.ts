import type { Secret } from '#lib/base/crypto/secret.ts'
import { newAccount, type ProviderAccount } from './provider-account.ts'

/** Where the sandbox is, and the key of its accounts. */
export interface SandboxAccess {
  readonly base_url: string
  readonly key: Secret
}

/** Nothing listens on the reserved port 1, so that this URL behaves as a provider that is down. */
const NOWHERE_URL = 'http://127.0.0.1:1'

/** The accounts of the sandbox, which need no file: `sandbox`, and `sandbox-down`, where nothing listens. */
export function sandboxAccounts({ base_url, key }: SandboxAccess): readonly ProviderAccount[] {
  const common = { connector: 'sandbox', credentials: { key }, settings: {}, is_simulated: true }
  return [
    newAccount('test', { ...common, account_id: 'sandbox', base_url }),
    newAccount('test', { ...common, account_id: 'sandbox-down', base_url: NOWHERE_URL }),
  ]
}
