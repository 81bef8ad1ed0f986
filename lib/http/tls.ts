import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions, type Server, type TlsOptions } from 'node:tls'
import { isNativeError } from 'node:util/types'
import { ConfigError } from '#lib/base/config/config.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { every } from '#lib/base/time.ts'
import type { Log } from '#lib/telemetry/log.ts'

/** The PEM texts for TLS between processes, for servers and clients. */
export interface TlsMaterial {
  readonly key: Buffer
  readonly certificate: Buffer
  /** The certificate authority. With it, gRPC callers and called servers must have a certificate signed by it. */
  readonly ca: Buffer | undefined
}

/** The paths of the PEM files. */
export interface TlsFiles {
  readonly key?: string | undefined
  readonly certificate?: string | undefined
  readonly ca?: string | undefined
}

/** The TLS material of a process, which can be replaced while it runs. */
export interface Tls {
  /** The material for new connections. */
  current(): TlsMaterial
  /** Registers a function that is called with new material after each change of the files. */
  onChange(apply: (material: TlsMaterial) => void): void
  /** Stops reloading the files. */
  close(): void
}

/** The interval of reloading. Certificates are replaced hours or days before they expire. */
export const TLS_RELOAD_MS = 60_000

/**
 * Reads the files now and again every `reload_ms`. Returns `undefined`, which means plain text, when no file is
 * configured. Throws `ConfigError` for invalid files at the start. Invalid files later are logged once per change, and
 * the earlier material stays in use, because the files may be half replaced.
 */
export async function openTls(files: TlsFiles, log: Log, reload_ms: number): Promise<Tls | undefined> {
  const { key, certificate, ca } = files
  if (key === undefined && certificate === undefined && ca === undefined) return undefined
  if (key === undefined || certificate === undefined)
    throw new ConfigError([
      'MULTIHUB_TLS_KEY and MULTIHUB_TLS_CERTIFICATE must be set together, also when MULTIHUB_TLS_CA is set',
    ])
  const read = () => readFiles(key, certificate, ca)
  const first = await read()
  let current = first.material()
  let change_marker = first.change_marker
  const listeners: ((material: TlsMaterial) => void)[] = []

  async function reload(): Promise<void> {
    const snapshot = await read()
    if (snapshot.change_marker === change_marker) return
    change_marker = snapshot.change_marker
    const material = snapshot.material()
    current = material
    for (const apply of listeners) apply(material)
    log.info({ part: 'tls' }, 'TLS files changed; new connections use them')
  }
  const timer = every(reload_ms, reload, (error) => {
    const reason = error instanceof ConfigError ? { reason: error.problems.join('; ') } : { error }
    log.error({ ...reason, part: 'tls' }, 'TLS files are not valid; the earlier ones stay in use')
  })
  return {
    current: () => current,
    onChange: (apply) => void listeners.push(apply),
    close: () => timer.cancel(),
  }
}

/** The options of a secure context, which change with the files. */
export function secureContextOptions({ key, certificate, ca }: TlsMaterial): SecureContextOptions {
  return { key, cert: certificate, ca }
}

/** The longest TLS handshake. Node's default is two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** The options of a TLS server. With a certificate authority, it asks callers for a certificate. */
export function tlsServerOptions(tls: Tls): TlsOptions {
  const material = tls.current()
  const requestCert = material.ca !== undefined
  return { ...secureContextOptions(material), requestCert, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
}

/** Applies changed files to the new connections of a server. Open connections stay as they are. */
export function reloadSecureContext(server: Server, tls: Tls): void {
  tls.onChange((material) => server.setSecureContext(secureContextOptions(material)))
}

/** The content of the files at one time. `change_marker` differs when a file or the error of reading one differs. */
async function readFiles(key: string, certificate: string, ca?: string) {
  const [first, second, third] = await Promise.all([
    readOneFile('MULTIHUB_TLS_KEY', key),
    readOneFile('MULTIHUB_TLS_CERTIFICATE', certificate),
    ca === undefined ? undefined : readOneFile('MULTIHUB_TLS_CA', ca),
  ])
  const markerOf = (content: Buffer | ConfigError): string =>
    content instanceof ConfigError ? content.message : sha256Hex(content)
  return {
    change_marker: [first, second, ...(third === undefined ? [] : [third])].map(markerOf).join(),
    /** Throws `ConfigError` if a file cannot be read or is not valid. */
    material: () =>
      checkMaterial({
        key: contentOf(first),
        certificate: contentOf(second),
        ca: third && contentOf(third),
      }),
  }
}

async function readOneFile(variable: string, path: string): Promise<Buffer | ConfigError> {
  try {
    return await readFile(path)
  } catch (error) {
    return new ConfigError([`${variable} cannot be read: ${messageOf(error)}`])
  }
}

function contentOf(content: Buffer | ConfigError): Buffer {
  if (content instanceof ConfigError) throw content
  return content
}

/** OpenSSL accepts truncated or empty certificate files and then trusts nothing, so this function checks them. */
function checkMaterial(material: TlsMaterial): TlsMaterial {
  const { certificate, ca } = material
  if (!isCertificates(certificate))
    throw new ConfigError(['MULTIHUB_TLS_CERTIFICATE must hold complete certificates'])
  if (ca !== undefined && !isCertificates(ca))
    throw new ConfigError(['MULTIHUB_TLS_CA must hold complete certificates'])
  try {
    createSecureContext(secureContextOptions(material))
  } catch (error) {
    throw new ConfigError([
      `MULTIHUB_TLS_KEY must hold the private key of MULTIHUB_TLS_CERTIFICATE (${messageOf(error)})`,
    ])
  }
  return material
}

/** Matches truncated certificates too, so that they are refused. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----)?/g

function isCertificates(pem: Buffer): boolean {
  const certificates = pem.toString('latin1').match(CERTIFICATE) ?? []
  try {
    return certificates.length > 0 && certificates.every((text) => new X509Certificate(text).raw.length > 0)
  } catch {
    return false
  }
}

function messageOf(error: unknown): string {
  return isNativeError(error) ? error.message : String(error)
}
