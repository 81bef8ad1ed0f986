import { readFile } from 'node:fs/promises'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { withTimeout } from '#lib/base/time.ts'
import { type NatsSecurity, parseNatsUrl } from '#lib/bus/nats-connection.ts'
import {
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  parseAddress,
  warning,
  withExpiry,
} from '#lib/role/environment-check.ts'
import type { ProcessConfig } from '../../app/process-settings.ts'
import { openProcessBus } from '../../app/roles.ts'

/** How long a server may take to show its certificate, and a message to come back. */
const LIMIT_MS = 5_000

/** The checks of NATS and of the certificates of its servers; none without NATS. */
export function busChecks(config: ProcessConfig): readonly EnvironmentCheck[] {
  if (config.nats_url === undefined) return []
  const { nats_tls_authority: authority, nats_tls_certificate: certificate, nats_tls_key: key } = config
  const certificates = busCertificateChecks(config.nats_url, { authority, certificate, key })
  return [{ subject: 'NATS', run: () => checkBus(config) }, ...certificates]
}

/** Connects with the credentials and TLS of the process, and sends a message to itself. */
async function checkBus(config: ProcessConfig): Promise<Finding> {
  const bus = await openProcessBus(config, 'doctor', { limit_ms: 0 })
  try {
    const { promise: received, resolve } = Promise.withResolvers<true>()
    const subject = `doctor.${randomHex(8)}`
    const subscription = await bus.subscribe(subject, () => resolve(true))
    await bus.publish(subject, new Uint8Array())
    const came_back = await withTimeout(received, LIMIT_MS)
    await subscription.close()
    if (came_back) return ok('carries messages')
    return warning(
      `connected, but a message did not come back: permit this user to publish and subscribe to ${config.system_name}.>`,
    )
  } finally {
    await bus.close()
  }
}

/**
 * The check of the certificate of each NATS server, if connections use TLS: expired ones are reported with their reason, and
 * those that expire soon are a warning.
 */
function busCertificateChecks(
  nats_url: Secret,
  { authority, certificate, key }: NatsSecurity,
): readonly EnvironmentCheck[] {
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
