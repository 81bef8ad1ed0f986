import { ConfigError } from '#lib/platform/config/config.ts'
import { isWildcardHost } from '#lib/platform/process/listen.ts'

/** The settings that decide where providers send callbacks. */
export interface ProviderCallbackSettings {
  /** The host that the port for callbacks listens on. */
  readonly host: string
  readonly public_url: string | undefined
}

/**
 * The configured base URL of provider callbacks; `undefined` means the address that the port listens on. Throws
 * `ConfigError` when that address stands for all addresses of this machine, such as 0.0.0.0, and a provider runs
 * elsewhere: it would be sent an address that it cannot reach, and all its callbacks would be lost.
 */
export function providerCallbackBaseUrl(
  { host, public_url }: ProviderCallbackSettings,
  provider_urls: readonly string[],
): string | undefined {
  if (public_url !== undefined || !isWildcardHost(host) || provider_urls.every(isOfThisMachine))
    return public_url
  throw new ConfigError([
    `MULTIHUB_PROVIDER_URL is missing: providers cannot send callbacks to ${host}, so set the URL at which they reach this process`,
  ])
}

const LOOPBACK_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/

function isOfThisMachine(url: string): boolean {
  return LOOPBACK_HOST.test(URL.parse(url)?.hostname ?? '')
}
