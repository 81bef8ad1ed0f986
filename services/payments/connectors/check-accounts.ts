import {
  type CheckContext,
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  reach,
  serverOf,
  warning,
  withExpiry,
} from '#lib/role/environment-check.ts'
import type { ConnectorSettings } from './open-connectors.ts'
import type { ProviderAccount } from './provider-account.ts'
import { readProviderAccounts } from './provider-accounts.ts'

const LIMIT_MS = 5_000

/**
 * The checks of the providers: one per origin of their accounts, by a connection without a request, so that nothing is paid.
 * An accounts file that is wrong, such as one with a key of both environments, is the only finding then.
 */
export function accountChecks(
  { sandbox_url, sandbox_key, providers_file }: ConnectorSettings,
  { variables, runs }: CheckContext,
): readonly EnvironmentCheck[] {
  const sandbox = sandbox_key && { base_url: sandbox_url, key: sandbox_key }
  let accounts: readonly ProviderAccount[]
  try {
    accounts = readProviderAccounts({ sandbox, providers_file }, variables)
  } catch (error) {
    return [{ subject: 'provider accounts', run: () => Promise.reject(error) }]
  }
  const calls_sandbox = variables['MULTIHUB_SANDBOX_URL'] !== undefined || !runs('sandbox')
  const called = accounts.filter(
    ({ is_simulated, account_id }) => !is_simulated || (account_id === 'sandbox' && calls_sandbox),
  )
  const by_origin = Map.groupBy(called, ({ base_url }) => new URL(base_url).origin)
  return [...by_origin].map(([origin, same]) => ({
    subject: `provider ${origin}`,
    run: () => checkProvider(origin, same),
  }))
}

async function checkProvider(origin: string, accounts: readonly ProviderAccount[]): Promise<Finding> {
  const names = accounts.map(({ account_id }) => account_id).join(', ')
  const source = accounts.some(({ is_simulated }) => is_simulated)
    ? 'start the sandbox, correct MULTIHUB_SANDBOX_URL, or leave MULTIHUB_SANDBOX_KEY out'
    : `correct base_url in MULTIHUB_PROVIDERS_FILE (${names}), or admit the connection`
  const server = serverOf(origin)
  const options = { limit_ms: LIMIT_MS, advice: source, authority: 'NODE_EXTRA_CA_CERTS' }
  const expires_at = origin.startsWith('https:') ? await inspectCertificate(server, options) : undefined
  if (expires_at === undefined) await reach(server, LIMIT_MS, source)
  if (new Set(accounts.map(({ environment }) => environment)).size > 1)
    return warning(
      `test and production accounts share this host (${names}): check that base_url of each is that of its environment`,
    )
  const text = `can be reached, for ${names}`
  return expires_at === undefined ? ok(text) : withExpiry(text, 'its', expires_at)
}
