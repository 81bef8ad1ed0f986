import { ConfigError } from '#lib/base/config/config.ts'
import { isWildcardHost } from '#lib/http/network.ts'

/** The settings that decide where providers reach the port for callbacks. */
interface ProviderCallbackSettings {
  readonly host: string
  readonly public_url: string | undefined
  /** For the accounts of the sandbox, which may be in a network that does not reach public URLs. */
  readonly sandbox_callback_url: string | undefined
}

/** The parts of a provider account that decide its URL. */
interface CallbackAccount {
  readonly account_id: string
  readonly base_url: string
  readonly is_simulated: boolean
}

/**
 * Makes the function that returns the configured base URL of the callbacks for an account id; `undefined` means the address
 * that the port listens on. Throws `ConfigError` when that address stands for all addresses of this machine, such as
 * 0.0.0.0, and a provider runs elsewhere: it would be sent an address that it cannot reach, and all its callbacks would
 * be lost (R2).
 */
export function createProviderCallbackBaseUrl(
  { host, public_url, sandbox_callback_url }: ProviderCallbackSettings,
  connected: readonly { readonly account: CallbackAccount }[],
): (account_id: string) => string | undefined {
  const accounts = connected.map(({ account }) => account)
  const simulated = new Set(accounts.filter((account) => account.is_simulated).map((each) => each.account_id))
  const baseUrlFor = (account_id: string): string | undefined =>
    (simulated.has(account_id) ? sandbox_callback_url : undefined) ?? public_url
  const isReached = ({ account_id, base_url }: CallbackAccount): boolean =>
    baseUrlFor(account_id) !== undefined || isOfThisMachine(base_url)
  if (!isWildcardHost(host) || accounts.every(isReached)) return baseUrlFor
  throw new ConfigError([
    `MULTIHUB_PROVIDER_URL is missing: providers cannot send callbacks to ${host}, so set the URL at which they reach this process`,
  ])
}

const LOOPBACK_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/

function isOfThisMachine(url: string): boolean {
  return LOOPBACK_HOST.test(URL.parse(url)?.hostname ?? '')
}
