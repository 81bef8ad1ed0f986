import type { Secret } from '#lib/platform/crypto/secret.ts'
import { inspectCertificate } from '#lib/platform/http/inspect-certificate.ts'
import { type EnvironmentCheck, withExpiry } from '#lib/platform/process/environment-check.ts'

const LIMIT_MS = 5_000

/**
 * The check of the certificate of each MongoDB server that a URI with TLS names: expired ones are reported with their reason,
 * and those that expire soon are a warning. None for `mongodb+srv`.
 */
export async function databaseCertificateChecks(
  mongodb_uri: Secret | undefined,
): Promise<readonly EnvironmentCheck[]> {
  if (mongodb_uri === undefined) return []
  const { readTlsServers } = await import('./mongodb/tls-servers.ts')
  const { servers, ca } = await readTlsServers(mongodb_uri)
  return servers.map((server) => ({
    subject: `certificate of MongoDB at ${server.host}:${server.port}`,
    run: async () => {
      const expires_at = await inspectCertificate(server, {
        material: { ca },
        limit_ms: LIMIT_MS,
        advice: 'correct MONGODB_URI',
        authority: 'tlsCAFile of MONGODB_URI, or in NODE_EXTRA_CA_CERTS',
      })
      return withExpiry('trusted', 'its', expires_at)
    },
  }))
}
