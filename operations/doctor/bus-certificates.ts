import { readFile } from 'node:fs/promises'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { type NatsSecurity, parseNatsUrl } from '#lib/bus/nats-connection.ts'
import {
  type EnvironmentCheck,
  inspectCertificate,
  parseAddress,
  withExpiry,
} from '#lib/role/environment-check.ts'

const LIMIT_MS = 5_000

/**
 * The check of the certificate of each NATS server, if connections use TLS: expired ones are reported with their reason, and
 * those that expire soon are a warning.
 */
export function busCertificateChecks(
  nats_url: Secret | undefined,
  { authority, certificate, key }: NatsSecurity,
): readonly EnvironmentCheck[] {
  if (nats_url === undefined) return []
  const { servers, tls } = parseNatsUrl(nats_url)
  if (!tls && authority === undefined && certificate === undefined) return []
  return servers.map((address) => ({
    subject: `certificate of NATS at ${address}`,
    run: async () => {
      const [ca, cert, private_key] = await Promise.all([authority, certificate, key].map(readIfNamed))
      const expires_at = await inspectCertificate(parseAddress(address), {
        material: { ca, certificate: cert, key: private_key },
        limit_ms: LIMIT_MS,
        advice: 'correct NATS_URL',
        authority: 'NATS_TLS_CA',
        greets_first: true,
      })
      return withExpiry('trusted', 'its', expires_at)
    },
  }))
}

async function readIfNamed(path: string | undefined): Promise<Buffer | undefined> {
  return path === undefined ? undefined : await readFile(path)
}
