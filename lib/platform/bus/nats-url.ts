import { ConfigError } from '#lib/platform/config/config.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'

/** Where NATS is and how to enter, in the form that its client takes. */
export interface NatsAddress {
  readonly servers: string[]
  /** Host and port of every server, without credentials: for logs and errors. */
  readonly shown: string
  readonly tls: boolean
  readonly credentials: { user: string; pass: string } | { token: string } | Record<string, never>
}

const DEFAULT_PORT = '4222'

/**
 * Reads NATS_URL: `nats://host:port` or `tls://host:port`, several divided by commas, with `user:password@` or
 * `token@` before a host (percent-encoded). The client itself would silently ignore credentials in a URL.
 */
export function parseNatsUrl(nats_url: Secret): NatsAddress {
  const urls = nats_url
    .reveal()
    .split(',')
    .map((text) => parseOne(text.trim()))
  const first = urls.find(({ username }) => username !== '') ?? urls[0]
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port === '' ? DEFAULT_PORT : port}`)
  return {
    servers,
    shown: servers.join(', '),
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

function parseOne(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
  if (url === null || url.hostname === '' || !['nats:', 'tls:'].includes(url.protocol)) {
    throw new ConfigError([
      'NATS_URL must be one or several URLs such as nats://host:4222, divided by commas',
    ])
  }
  return url
}
