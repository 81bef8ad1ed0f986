import { ConfigError } from '#lib/base/config/config.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'

/** The servers of NATS and the credentials for them, in the form that its client takes. */
export interface NatsAddress {
  readonly servers: string[]
  /** Host and port of every server without credentials, for logs and errors. */
  readonly display_name: string
  readonly tls: boolean
  readonly credentials: { user: string; pass: string } | { token: string } | Record<string, never>
}

const DEFAULT_PORT = '4222'

/**
 * Parses NATS_URL: one or several `nats://host:port` or `tls://host:port`, separated by commas, with optional
 * percent-encoded `user:password@` or `token@` before a host. The client itself would silently ignore credentials in a
 * URL. Throws `ConfigError`.
 */
export function parseNatsUrl(nats_url: Secret): NatsAddress {
  const urls = nats_url
    .reveal()
    .split(',')
    .map((text) => parseServerUrl(text.trim()))
  const first = urls.find(({ username }) => username !== '') ?? urls[0]
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port === '' ? DEFAULT_PORT : port}`)
  return {
    servers,
    display_name: servers.join(', '),
    tls: urls.some(({ protocol }) => protocol === 'tls:'),
    credentials: credentialsOf(
      decodeURIComponent(first?.username ?? ''),
      decodeURIComponent(first?.password ?? ''),
    ),
  }
}

function credentialsOf(user: string, pass: string): NatsAddress['credentials'] {
  if (user === '') return {}
  return pass === '' ? { token: user } : { user, pass }
}

function parseServerUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
  if (url === null || url.hostname === '' || !['nats:', 'tls:'].includes(url.protocol)) {
    throw new ConfigError([
      'NATS_URL must be one or several URLs such as nats://host:4222, separated by commas',
    ])
  }
  return url
}
