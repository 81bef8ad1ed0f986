import { ConfigError } from '#lib/base/config/config.ts'
import { isWildcardHost } from '#lib/http/network.ts'

/**
 * The configured base URL of links to files, without a slash at its end; `undefined` means the address that the port
 * listens on. Throws `ConfigError` when that address stands for all addresses of this machine, such as 0.0.0.0: each link
 * would lead a merchant to the merchant's own machine (R2).
 */
export function publicBaseUrl({
  host,
  public_url,
}: {
  readonly host: string
  readonly public_url: string | undefined
}) {
  if (public_url !== undefined) return public_url.replace(/\/+$/, '')
  if (!isWildcardHost(host)) return undefined
  throw new ConfigError([
    `MULTIHUB_PUBLIC_URL is missing: links to files cannot lead to ${host}, so set the URL at which merchants reach this process`,
  ])
}
