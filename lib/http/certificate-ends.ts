import { X509Certificate } from 'node:crypto'
import { StartError } from '#lib/base/start-error.ts'
import { gauge } from '#lib/telemetry/metrics.ts'

const DAY_MS = 86_400_000
/** How long before its end a certificate is named: several tries of a weekly or monthly renewal lie within. */
const NAMED_DAYS = 14

/** When a certificate ends. */
export interface CertificateEnd {
  /** The certificate as messages name it, such as `the certificate of MULTIHUB_TLS_CA`. */
  readonly subject: string
  readonly end_ms: number
}

/** The certificates that a setting names: in its files, or of the servers behind it. */
export interface SettingCertificates {
  readonly setting: string
  /** Empty until one could be read. */
  readonly ends: readonly CertificateEnd[]
}

/** The PEM texts of the certificates that a process shows and trusts between processes. */
interface OwnCertificates {
  readonly certificate: Buffer
  readonly ca: Buffer | undefined
}

/** What is to be said about the certificates of a process. */
export interface CertificateProblems {
  /** That the certificate of the process has expired: no other process accepts it any more. */
  readonly expired?: string | undefined
  /** Certificates that end within 14 days or have ended, except an own certificate that has ended. */
  readonly ending: readonly string[]
}

const OWN_SETTING = 'MULTIHUB_TLS_CERTIFICATE'

const remaining_seconds = gauge(
  'multihub_certificate_remaining_seconds',
  'Time until the certificate that a setting names ends, negative after its end. Of several authorities the last end counts, of ' +
    'several servers the first.',
  ['setting'],
)

const known_ends = new WeakMap<OwnCertificates, readonly SettingCertificates[]>()

/** The certificates for TLS between processes. Without TLS there are none. */
export function ownCertificates(material: OwnCertificates | undefined): readonly SettingCertificates[] {
  if (material === undefined) return []
  const known = known_ends.get(material)
  if (known !== undefined) return known
  const { certificate, ca } = material
  const own = { setting: OWN_SETTING, ends: [shownEnd(certificate, OWN_SETTING)] }
  const authority =
    ca === undefined ? [] : [{ setting: 'MULTIHUB_TLS_CA', ends: [trustedEnd(ca, 'MULTIHUB_TLS_CA')] }]
  const ends = [own, ...authority]
  known_ends.set(material, ends)
  return ends
}

/** When the certificate of a PEM file ends that a process shows: the first one. Others of its chain may be old. Throws `StartError`. */
export function shownEnd(pem: Buffer, place: string): CertificateEnd {
  const [end_ms = 0] = endsOf(pem)
  return { subject: `the certificate of ${place}`, end_ms }
}

/** When the last authority of a PEM file ends: one valid authority is enough, others may be old. Throws `StartError`. */
export function trustedEnd(pem: Buffer, place: string): CertificateEnd {
  return { subject: `the certificate of ${place}`, end_ms: Math.max(...endsOf(pem)) }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function endsOf(pem: Buffer): readonly number[] {
  const certificates = pem.toString('latin1').match(CERTIFICATE)
  if (certificates === null) throw new StartError('the file has no certificate: replace it')
  return certificates.map((text) => new X509Certificate(text).validToDate.getTime())
}

/** Says which certificates have expired or end soon. */
export function certificateProblems(
  certificates: readonly SettingCertificates[],
  now_ms: number,
): CertificateProblems {
  const named = certificates.flatMap(({ setting, ends }) =>
    ends
      .filter(({ end_ms }) => end_ms - now_ms <= NAMED_DAYS * DAY_MS)
      .map((end) => ({ setting, text: problemOf(end, now_ms), has_ended: end.end_ms <= now_ms })),
  )
  const expired = named.find(({ setting, has_ended }) => has_ended && setting === OWN_SETTING)
  return {
    expired: expired?.text,
    ending: named.filter((one) => one !== expired).map(({ text }) => text),
  }
}

function problemOf({ subject, end_ms }: CertificateEnd, now_ms: number): string {
  return `${subject} ${end_ms > now_ms ? 'ends' : 'expired'} at ${new Date(end_ms).toISOString()}: renew it`
}

/** Shows for each setting how long its certificates are still valid; no value until one could be read. */
export function measureCertificates(certificates: readonly SettingCertificates[], now_ms: number): void {
  for (const { setting, ends } of certificates) {
    const first_end_ms = Math.min(...ends.map(({ end_ms }) => end_ms))
    if (ends.length === 0) remaining_seconds.remove({ setting })
    else remaining_seconds.set({ setting }, (first_end_ms - now_ms) / 1_000)
  }
}
