import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { every } from '#lib/base/time.ts'
import { parseNatsUrl } from '#lib/bus/nats-connection.ts'
import {
  type CertificateEnd,
  type SettingCertificates,
  shownEnd,
  trustedEnd,
} from '#lib/http/certificate-ends.ts'
import { simulatedNetwork } from '#lib/http/network.ts'
import {
  type InspectionOptions,
  parseAddress,
  readCertificateEnd,
  type ServerAddress,
} from '#lib/role/environment-check.ts'
import type { TlsServers } from '#lib/store/mongodb/connect.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ProcessConfig } from './process-settings.ts'

/** The pause between two readings. A certificate is named 14 days before its end. */
const READ_MS = 3_600_000
/** How long a server may take to show its certificate. */
const LIMIT_MS = 5_000

/** The settings that name the servers and the files of TLS connections to NATS and MongoDB. */
export type ConnectionSettings = Pick<
  ProcessConfig,
  'nats_url' | 'nats_tls_authority' | 'nats_tls_certificate' | 'nats_tls_key' | 'mongodb_uri'
>

/** The SRV records of a DNS name. */
export type ResolveSrv = (
  name: string,
) => Promise<readonly { readonly name: string; readonly port: number }[]>

/** Asks the DNS servers of the machine. */
export const resolveSrv: ResolveSrv = (name) => new Resolver({ timeout: LIMIT_MS, tries: 1 }).resolveSrv(name)

/** The addresses of the NATS servers that a process reaches over TLS; none without TLS. */
export function natsTlsAddresses(settings: ConnectionSettings): readonly string[] {
  const { nats_url, nats_tls_authority, nats_tls_certificate } = settings
  if (nats_url === undefined) return []
  const { servers, tls } = parseNatsUrl(nats_url)
  return tls || nats_tls_authority !== undefined || nats_tls_certificate !== undefined ? servers : []
}

/** How the certificate of a NATS server is looked at. Throws when a file cannot be read. */
export async function natsInspection(settings: ConnectionSettings): Promise<InspectionOptions> {
  const { nats_tls_authority, nats_tls_certificate, nats_tls_key } = settings
  const [ca, certificate, key] = await Promise.all(
    [nats_tls_authority, nats_tls_certificate, nats_tls_key].map(async (path) =>
      path === undefined ? undefined : await readFile(path),
    ),
  )
  return {
    material: { ca, certificate, key },
    limit_ms: LIMIT_MS,
    advice: 'correct NATS_URL',
    authority: 'NATS_TLS_CA',
    greets_first: true,
  }
}

/** How the certificates of the MongoDB servers of a URI are looked at. Throws when a file cannot be read. */
export async function mongodbInspection({
  ca_file,
  certificate_file,
  passphrase,
}: TlsServers): Promise<InspectionOptions> {
  const [ca, certificate] = await Promise.all(
    [ca_file, certificate_file].map(async (path) => (path === undefined ? undefined : await readFile(path))),
  )
  return {
    // One file has the certificate and its key.
    material: { ca, certificate, key: certificate, passphrase: passphrase?.reveal() },
    limit_ms: LIMIT_MS,
    advice: 'correct MONGODB_URI',
    authority: 'tlsCAFile of MONGODB_URI, or in NODE_EXTRA_CA_CERTS',
  }
}

/**
 * Reads the certificates of the connections to NATS and MongoDB at once and every hour, by handshakes of its own: the drivers do not
 * show the certificates of their connections. The returned function gives what the last readings have found.
 */
export function watchConnectionCertificates(
  lifecycle: Lifecycle,
  settings: ConnectionSettings,
): () => readonly SettingCertificates[] {
  let current: readonly SettingCertificates[] = []
  if (simulatedNetwork() !== undefined) return () => current
  const read = async (): Promise<void> => {
    current = await readConnectionCertificates(settings, { earlier: current })
  }
  const onError = (error: unknown): void =>
    log.warn({ part: 'tls', error }, 'the certificates of connections could not be read')
  const timer = every(READ_MS, read, onError, 0)
  lifecycle.onStop('certificates of connections', () => timer.cancel())
  return () => current
}

/** How one certificate is read. `subject` names it, or is the beginning of the names of several that cannot be read. */
interface Reading {
  readonly subject: string
  endMs(): Promise<number>
}

/** What the readings of certificates follow from. */
interface ReadingOptions {
  /** What was read before. An end in it counts until it is read again. */
  readonly earlier?: readonly SettingCertificates[]
  readonly resolve?: ResolveSrv
}

/**
 * The certificates in the files that settings name, and the certificates of the servers, whether or not they are trusted. A
 * certificate that cannot be read has its earlier end, so that a server that does not answer ends no alert, and a line in the log.
 */
export async function readConnectionCertificates(
  settings: ConnectionSettings,
  { earlier = [], resolve = resolveSrv }: ReadingOptions = {},
): Promise<readonly SettingCertificates[]> {
  const { mongodb_uri, nats_tls_authority, nats_tls_certificate } = settings
  const readings: Readonly<Record<string, readonly Reading[]>> = {
    NATS_TLS_CERTIFICATE: readingsOfFile(shownEnd, 'NATS_TLS_CERTIFICATE', nats_tls_certificate),
    NATS_TLS_CA: readingsOfFile(trustedEnd, 'NATS_TLS_CA', nats_tls_authority),
    NATS_URL: natsTlsAddresses(settings).map((address) =>
      readingOfServer('NATS_URL', parseAddress(address), () => natsInspection(settings)),
    ),
    MONGODB_URI: mongodb_uri === undefined ? [] : await readingsOfMongodb(mongodb_uri, resolve),
  }
  const used = Object.entries(readings).filter(([, of_setting]) => of_setting.length > 0)
  return Promise.all(
    used.map(async ([setting, of_setting]) => {
      const known = earlier.find((one) => one.setting === setting)?.ends ?? []
      return { setting, ends: await readAll(setting, of_setting, known) }
    }),
  )
}

async function readingsOfMongodb(uri: Secret, resolve: ResolveSrv): Promise<readonly Reading[]> {
  const { readTlsServers } = await import('#lib/store/mongodb/connect.ts')
  const found = readTlsServers(uri)
  const { servers, srv_name, ca_file, certificate_file } = found
  const files = [
    ...readingsOfFile(shownEnd, 'tlsCertificateKeyFile in MONGODB_URI', certificate_file),
    ...readingsOfFile(trustedEnd, 'tlsCAFile in MONGODB_URI', ca_file),
  ]
  const readingOf = (server: ServerAddress): Reading =>
    readingOfServer('MONGODB_URI', server, () => mongodbInspection(found))
  if (srv_name === undefined) return [...files, ...servers.map(readingOf)]
  try {
    const records = await resolve(srv_name)
    return [...files, ...records.map(({ name: host, port }) => readingOf({ host, port }))]
  } catch (error) {
    return [...files, { subject: SERVER_SUBJECT, endMs: () => Promise.reject(error) }]
  }
}

function readingsOfFile(endOf: typeof shownEnd, place: string, path: string | undefined): readonly Reading[] {
  if (path === undefined) return []
  const subject = `the certificate of ${place}`
  return [{ subject, endMs: async () => endOf(await readFile(path), place).end_ms }]
}

const SERVER_SUBJECT = 'the certificate of the server '

function readingOfServer(
  setting: string,
  server: ServerAddress,
  optionsOf: () => Promise<InspectionOptions>,
): Reading {
  return {
    subject: `${SERVER_SUBJECT}${server.host}:${server.port} of ${setting}`,
    endMs: async () => (await readCertificateEnd(server, await optionsOf())).getTime(),
  }
}

async function readAll(
  variable: string,
  readings: readonly Reading[],
  known: readonly CertificateEnd[],
): Promise<readonly CertificateEnd[]> {
  const read = async ({ subject, endMs }: Reading): Promise<readonly CertificateEnd[]> => {
    try {
      return [{ subject, end_ms: await endMs() }]
    } catch (error) {
      const text = 'the certificate of a connection could not be read; it is tried again in an hour'
      log.warn({ part: 'tls', variable, error }, text)
      return known.filter((end) => end.subject.startsWith(subject))
    }
  }
  return (await Promise.all(readings.map(read))).flat()
}
