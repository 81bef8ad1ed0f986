import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpRequest, type HttpResponse } from '#lib/http/client.ts'
import { HttpFailure } from '#lib/http/http-failure.ts'
import { createSystemResolver } from '#lib/http/resolve-host.ts'
import type { Tls } from '#lib/http/tls.ts'

/** What a check found that keeps nothing from working now. A warning says what will fail, and what to do. */
export interface Finding {
  readonly status: 'ok' | 'warning'
  readonly text: string
}

/** One part of the environment, as `doctor` looks at it. `run` changes nothing, and throws an error that says what to do. */
export interface EnvironmentCheck {
  readonly subject: string
  run(): Promise<Finding>
}

/** What the checks of a role know about the process that they look for. */
export interface CheckContext {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The TLS material with which the process calls other processes; `undefined` means plain text. */
  readonly tls: Tls | undefined
  /** Whether the process runs a role itself, so that it does not call it over the network. */
  runs(role: string): boolean
}

/** A certificate that ends sooner is a warning. Most authorities give certificates for at least 90 days. */
const RENEWAL_MS = 30 * 24 * 60 * 60 * 1_000

/** Everything is as it should be. */
export function ok(text: string): Finding {
  return { status: 'ok', text }
}

/** Something works now, and will not work, or works for a part only. */
export function warning(text: string): Finding {
  return { status: 'warning', text }
}

/** The finding of a part with a valid certificate: a warning when that ends within 30 days. `owner` is such as `its`. */
export function withExpiry(text: string, owner: string, expires_at: Date): Finding {
  const day = expires_at.toISOString().slice(0, 10)
  if (expires_at.getTime() - clock.now_ms() > RENEWAL_MS)
    return ok(`${text}, ${owner} certificate is valid until ${day}`)
  return warning(`${text}, but ${owner} certificate ends on ${day}: renew it`)
}

/** Where a server should listen. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
}

/**
 * Opens and closes one TCP connection, to show that something listens. Throws `StartError` with the failure and the advice.
 */
export async function reach({ host, port }: ServerAddress, limit_ms: number, advice: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host, port, timeout: limit_ms })
      socket.once('connect', () => {
        socket.destroy()
        resolve()
      })
      socket.once('timeout', () => socket.destroy(new Error(`no answer within ${limit_ms / 1_000} s`)))
      socket.once('error', reject)
    })
  } catch (error) {
    throw unreachable(host, error, advice)
  }
}

/** The error for a server that gave no answer. It says whether its name has no address, or the server is unavailable. */
export function unreachable(host: string, error: unknown, advice: string): StartError {
  const code = systemErrorCode(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new StartError(`the name ${host} has no address (${code}): ${advice}`)
  return new StartError(`${error instanceof Error ? error.message : error}: ${advice}`)
}

/** The host and port of a URL. An IPv6 address loses its brackets. */
export function serverOf(url: string): ServerAddress {
  const { hostname, port, protocol } = new URL(url)
  const default_port = protocol === 'https:' ? 443 : 80
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? default_port : Number(port) }
}

/** The host and port of an address such as `payments:9090` or `[::1]:9090`. */
export function parseAddress(address: string): ServerAddress {
  return serverOf(`tcp://${address}`)
}

/**
 * Sends one request of `doctor` to a server that takes connections, and returns its response. Throws `StartError` with the
 * failure and the advice when there is none, as from a server that hangs.
 */
export async function sendCheckRequest(request: HttpRequest, advice: string): Promise<HttpResponse> {
  const http = createHttpClient({ allow: allowAnyAddress, resolve: createSystemResolver() })
  try {
    return await http.request(request)
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error
    throw noResponse(error.reason, advice)
  } finally {
    await http.close()
  }
}

/** The error for a server that takes connections and gives no response to a request. */
export function noResponse(reason: string, advice: string): StartError {
  return new StartError(`something listens there, but gives no HTTP response (${reason}): ${advice}`)
}

/** How a certificate is looked at. */
export interface InspectionOptions {
  /** The certificate that the client presents and the authority that it trusts; without it, the authorities of Node.js. */
  readonly material?: ClientMaterial | undefined
  /** How long the greeting and the handshake may take together. */
  readonly limit_ms: number
  /** What to do when nothing answers, such as `correct MULTIHUB_PAYMENTS_ADDRESS`. */
  readonly advice: string
  /** How the client comes to trust an authority, such as `MULTIHUB_TLS_CA`. */
  readonly authority: string
  /** Whether the server sends one line in plain text before the handshake, as NATS does. */
  readonly greets_first?: boolean
}

interface ClientMaterial {
  readonly key?: Buffer | undefined
  /** Decrypts `key`. */
  readonly passphrase?: string | undefined
  readonly certificate?: Buffer | undefined
  readonly ca?: Buffer | undefined
}

/** The longest greeting: NATS names all servers of its cluster. */
const GREETING_MAX_BYTES = 64 * 1_024

/** The codes of a handshake with a server that does not speak TLS: it answers in another protocol, or closes. */
const NOT_TLS: ReadonlySet<unknown> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ECONNRESET',
])

/**
 * Returns until when the certificate of a server is valid. Throws `StartError` when nothing answers or speaks TLS, and when
 * the certificate is expired, is not valid yet, has another name, or is not trusted.
 */
export async function inspectCertificate(server: ServerAddress, options: InspectionOptions): Promise<Date> {
  const { host } = server
  const socket = await shakeHands(server, options)
  try {
    const { subjectaltname = 'no name', valid_from, valid_to, issuer } = socket.getPeerCertificate()
    const code = String(socket.authorizationError ?? '')
    if (code === 'CERT_HAS_EXPIRED' || new Date(valid_to).getTime() <= clock.now_ms())
      throw new StartError(`its certificate expired on ${valid_to}: renew it`)
    if (code === 'CERT_NOT_YET_VALID')
      throw new StartError(
        `its certificate is valid from ${valid_from} on only: correct the clocks or renew it`,
      )
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      throw new StartError(
        `its certificate is not for ${host} but for ${subjectaltname}: issue one for ${host}, or ${options.advice}`,
      )
    if (!socket.authorized)
      throw new StartError(
        `its certificate is not trusted (${code}): it is signed by ${issuer?.CN ?? 'an unnamed authority'}, which must be in ${options.authority}`,
      )
    return new Date(valid_to)
  } finally {
    socket.destroy()
  }
}

/**
 * Returns until when the certificate of a server is valid, whether or not it is trusted. Throws `StartError` when nothing answers or
 * speaks TLS.
 */
export async function readCertificateEnd(server: ServerAddress, options: InspectionOptions): Promise<Date> {
  const socket = await shakeHands(server, options)
  try {
    return new Date(socket.getPeerCertificate().valid_to)
  } finally {
    socket.destroy()
  }
}

/** Connects without judging the certificate, so that the reason of a refusal can be named. */
async function shakeHands(
  { host, port }: ServerAddress,
  { material, limit_ms, advice, greets_first = false }: InspectionOptions,
): Promise<TLSSocket> {
  const { key, passphrase, certificate: cert, ca } = material ?? {}
  const name = isIP(host) === 0 ? { servername: host } : {}
  const plain = connect({ host, port })
  let socket: Socket = plain
  // Not the limit of the socket, which every byte begins anew.
  const timer = clock.after(limit_ms, () =>
    socket.destroy(new Error(`no answer within ${limit_ms / 1_000} s`)),
  )
  try {
    await (greets_first ? readGreeting(plain) : waitFor(plain, 'connect'))
    const secure = connectTls({
      socket: plain,
      host,
      ...name,
      key,
      passphrase,
      cert,
      ca,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    socket = secure
    await waitFor(secure, 'secureConnect')
    return secure
  } catch (error) {
    socket.destroy()
    const code = systemErrorCode(error)
    if (NOT_TLS.has(code))
      throw new StartError(`something listens there, but it does not speak TLS (${code}): ${advice}`)
    throw unreachable(host, error, advice)
  } finally {
    timer.cancel()
  }
}

/** Waits for an event of a socket. A server may also refuse the certificate of this client after the handshake, so errors stay handled. */
function waitFor(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.on('error', reject)
  })
}

/** Reads the line with which the server begins, without TLS. */
function readGreeting(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.length > GREETING_MAX_BYTES) socket.destroy(new Error('its greeting has no end'))
      if (!received.includes('\n')) return
      socket.removeAllListeners('data').pause()
      resolve()
    })
    socket.once('close', () => reject(new Error('it closed the connection')))
    socket.on('error', reject)
  })
}
