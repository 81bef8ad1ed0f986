import type { Variables } from '#lib/base/config/config.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { createSystemResolver } from '#lib/http/resolve-host.ts'
import {
  type ConnectedAccount,
  connectAccount,
  createFindAccount,
  type FindAccount,
} from './connect-account.ts'
import { readProviderAccounts } from './provider-accounts.ts'

/** The settings of the provider accounts. Without the sandbox's key there are no sandbox accounts. */
export interface ConnectorSettings {
  readonly sandbox_url: string
  readonly sandbox_key: Secret | undefined
  readonly providers_file: string | undefined
}

/** The provider accounts of a process, connected to their providers. */
export interface OpenedConnectors {
  readonly findAccount: FindAccount
  /** All accounts. */
  readonly accounts: readonly ConnectedAccount[]
  close(): Promise<void>
}

/**
 * Twice the number of requests that one merchant can have in progress at the gateway, so that slow providers of one
 * merchant leave connections for all others.
 */
const PROVIDER_CONNECTIONS = 5_000

/** Reads the provider accounts and connects them. Throws `ConfigError` when an account is wrong. */
export function openConnectors(
  { sandbox_url, sandbox_key, providers_file }: ConnectorSettings,
  variables: Variables,
): OpenedConnectors {
  const sandbox = sandbox_key && { base_url: sandbox_url, key: sandbox_key }
  const configured = readProviderAccounts({ sandbox, providers_file }, variables)
  // The operator configures the providers, so their addresses may be private, and their names are those of the system.
  const http = createHttpClient({
    allow: allowAnyAddress,
    connections_per_origin: PROVIDER_CONNECTIONS,
    resolve: createSystemResolver(),
  })
  const accounts = configured.map((account) => connectAccount(account, http))
  return {
    findAccount: createFindAccount(accounts),
    accounts,
    close: () => http.close(),
  }
}
