import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions, type Server, type TlsOptions } from 'node:tls'
import { isNativeError } from 'node:util/types'
import { ConfigError } from '#lib/platform/config/config.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { every } from '#lib/platform/time.ts'

/** The PEM texts by which a process proves itself and judges others, as a server and as a client. */
export interface TlsMaterial {
  readonly key: Buffer
  readonly certificate: Buffer
  /** With it, gRPC callers must show a certificate that it signed, and servers that we call must have one too. */
  readonly authority: Buffer | undefined
}

/** Where the PEM files are. */
export interface TlsFiles {
  readonly key?: string | undefined
  readonly certificate?: string | undefined
  readonly authority?: string | undefined
}

/** What the connections of a process are secured with. Certificates are replaced while it runs. */
export interface Tls {
  /** What a connection that begins now uses. */
  current(): TlsMaterial
  /** Calls back whenever something else takes its place. */
  onChange(apply: (material: TlsMaterial) => void): void
  /** Looks at the files no more. */
  close(): void
}

/** How often the files are looked at: certificates are replaced hours or days before they run out. */
export const TLS_RELOAD_MS = 60_000

/**
 * Reads the files, and again every `look_ms`; `undefined` when none is named, which means plain text. Throws
 * `ConfigError` when they are of no use at the start; later that is logged once a change, and what was read before
 * stays in use: the files may be half replaced.
 */
export async function openTls(files: TlsFiles, log: Log, look_ms: number): Promise<Tls | undefined> {
  const { key, certificate, authority } = files
  if (key === undefined && certificate === undefined && authority === undefined) return undefined
  if (key === undefined || certificate === undefined)
    throw new ConfigError([
      'MULTIHUB_TLS_KEY and MULTIHUB_TLS_CERTIFICATE must be set together, also when MULTIHUB_TLS_CA is set',
    ])
  const look = (): Promise<FileSnapshot<TlsMaterial>> => readFiles(key, certificate, authority)
  const first = await look()
  let in_use = first.take()
  let seen = first.print
  const listeners: ((material: TlsMaterial) => void)[] = []

  async function lookAgain(): Promise<void> {
    const { print, take } = await look()
    if (print === seen) return
    seen = print
    const material = take()
    in_use = material
    for (const apply of listeners) apply(material)
    log.info({ part: 'tls' }, 'new connections use the certificates that are in the files now')
  }
  const timer = every(look_ms, lookAgain, (error) => {
    const fault = error instanceof ConfigError ? { reason: error.problems.join('; ') } : { error }
    log.error(
      { ...fault, part: 'tls' },
      'the TLS files are of no use now, and what they held before stays in use',
    )
  })
  return {
    current: () => in_use,
    onChange: (apply) => void listeners.push(apply),
    close: () => timer.cancel(),
  }
}

/** The part of the options of a server that changes with the files. */
export function secureContextOptions({ key, certificate, authority }: TlsMaterial): SecureContextOptions {
  return { key, cert: certificate, ...(authority === undefined ? {} : { ca: authority }) }
}

/** So long a new connection may take to agree on its keys; Node would wait for two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** The options of a server that proves itself and, where there is an authority, asks callers for a certificate. */
export function tlsServerOptions(tls: Tls): TlsOptions {
  const material = tls.current()
  const requestCert = material.authority !== undefined
  return { ...secureContextOptions(material), requestCert, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
}

/** Gives each new connection of a server what the files hold by then; connections that are open stay as they are. */
export function reloadSecureContext(server: Server, tls: Tls): void {
  tls.onChange((material) => server.setSecureContext(secureContextOptions(material)))
}

/** What a look at files found: a text that differs when the files do, and what they hold, which may be a fault. */
interface FileSnapshot<T> {
  readonly print: string
  take(): T
}

async function readFiles(
  key: string,
  certificate: string,
  authority?: string,
): Promise<FileSnapshot<TlsMaterial>> {
  const sights = await Promise.all([
    readOneFile('MULTIHUB_TLS_KEY', key),
    readOneFile('MULTIHUB_TLS_CERTIFICATE', certificate),
    authority === undefined ? undefined : readOneFile('MULTIHUB_TLS_CA', authority),
  ])
  const [first, second, third] = sights
  return {
    print: sights.map((sight) => sight?.print).join(),
    take: () => checkMaterial({ key: first.take(), certificate: second.take(), authority: third?.take() }),
  }
}

async function readOneFile(variable: string, path: string): Promise<FileSnapshot<Buffer>> {
  try {
    const bytes = await readFile(path)
    return { print: sha256Hex(bytes), take: () => bytes }
  } catch (error) {
    const problem = `${variable} cannot be read: ${messageOf(error)}`
    return {
      print: problem,
      take() {
        throw new ConfigError([problem])
      },
    }
  }
}

/** Refuses what OpenSSL would take silently too: authorities that are cut off or none at all, which trust nobody. */
function checkMaterial(material: TlsMaterial): TlsMaterial {
  const { certificate, authority } = material
  if (!isCertificates(certificate))
    throw new ConfigError(['MULTIHUB_TLS_CERTIFICATE does not hold whole certificates'])
  if (authority !== undefined && !isCertificates(authority))
    throw new ConfigError(['MULTIHUB_TLS_CA does not hold whole certificates'])
  try {
    createSecureContext(secureContextOptions(material))
  } catch (error) {
    throw new ConfigError([
      `MULTIHUB_TLS_KEY is no key, or not that of MULTIHUB_TLS_CERTIFICATE (${messageOf(error)})`,
    ])
  }
  return material
}

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
