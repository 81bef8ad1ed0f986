import { readFile } from 'node:fs/promises'
import { type ConnectionOptions, credsAuthenticator } from '@nats-io/transport-node'
import { ConfigError } from '#lib/base/config/config.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { systemErrorCode } from '#lib/base/system-error-code.ts'

/** How NATS and this process authenticate each other, apart from what NATS_URL contains. */
export interface NatsSecurity {
  /** The paths of PEM files. The client reads them for every connection, so that they can be replaced. */
  readonly authority?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
  /** The content of a credentials file: a JWT and the seed of its key. */
  readonly credentials?: Secret | undefined
}

/** The client's options for TLS and credentials. Throws `ConfigError` when a file cannot be read or used. */
export async function natsSecurityOptions(
  { authority, certificate, key, credentials }: NatsSecurity,
  url_has_tls: boolean,
): Promise<Pick<ConnectionOptions, 'tls' | 'authenticator'>> {
  if ((certificate === undefined) !== (key === undefined))
    throw new ConfigError(['NATS_TLS_CERTIFICATE and NATS_TLS_KEY must be set together'])
  const files = { NATS_TLS_CA: authority, NATS_TLS_CERTIFICATE: certificate, NATS_TLS_KEY: key }
  const problems = await Promise.all(
    Object.entries(files).map(([variable, path]) => problemOf(variable, path)),
  )
  const found = problems.filter((problem) => problem !== undefined)
  if (found.length > 0) throw new ConfigError(found)
  const has_tls = url_has_tls || authority !== undefined || certificate !== undefined
  return {
    ...(has_tls && {
      tls: {
        ...(authority !== undefined && { caFile: authority }),
        ...(certificate !== undefined && { certFile: certificate }),
        ...(key !== undefined && { keyFile: key }),
      },
    }),
    ...(credentials && { authenticator: authenticatorOf(credentials) }),
  }
}

async function problemOf(variable: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    const pem = await readFile(path, 'latin1')
    return pem.includes('-----BEGIN ') ? undefined : `${variable} must name a PEM file`
  } catch (error) {
    return `${variable} cannot be read (${systemErrorCode(error)})`
  }
}

function authenticatorOf(credentials: Secret): NonNullable<ConnectionOptions['authenticator']> {
  // The client expects a line end after the last line.
  const authenticate = credsAuthenticator(new TextEncoder().encode(`${credentials.reveal()}\n`))
  try {
    // The client parses the text at its first use only.
    Reflect.apply(authenticate as (nonce?: string) => unknown, undefined, ['nonce'])
  } catch {
    throw new ConfigError(['NATS_CREDENTIALS must be the content of a NATS credentials file (.creds)'])
  }
  return authenticate
}
