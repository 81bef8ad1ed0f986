import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { StartError } from '#lib/base/start-error.ts'
import { systemErrorCode } from '#lib/base/system-error-code.ts'
import { clock } from '#lib/base/time.ts'
import { type ServerAddress, unreachable } from './reach.ts'

/** How a certificate is looked at. */
export interface InspectionOptions {
  /** The certificate that the client presents and the authority that it trusts; without it, the authorities of Node.js. */
  readonly material?: ClientMaterial | undefined
  readonly limit_ms: number
  /** What to do when nothing answers, such as `correct MULTIHUB_PAYMENTS_ADDRESS`. */
  readonly advice: string
  /** How the client comes to trust an authority, such as `MULTIHUB_TLS_CA`. */
  readonly authority: string
  /** Whether the server sends one line in plain text before the handshake, as NATS does. */
  readonly greets_first?: boolean
}

/** What a client may have for TLS. */
interface ClientMaterial {
  readonly key?: Buffer | undefined
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

/** Connects without judging the certificate, so that the reason of a refusal can be named. */
async function shakeHands(
  server: ServerAddress,
  { material, limit_ms, advice, greets_first = false }: InspectionOptions,
): Promise<TLSSocket> {
  const { host } = server
  const identity = material && { key: material.key, cert: material.certificate, ca: material.ca }
  const name = isIP(host) === 0 ? { servername: host } : {}
  try {
    const place = greets_first ? { socket: await readGreeting(server, limit_ms) } : server
    return await new Promise<TLSSocket>((resolve, reject) => {
      const socket = connect({
        ...place,
        ...name,
        ...identity,
        rejectUnauthorized: false,
        timeout: limit_ms,
        ALPNProtocols: ['h2', 'http/1.1'],
      })
      socket.once('timeout', () => socket.destroy(noAnswer(limit_ms)))
      socket.once('secureConnect', () => resolve(socket))
      // A server may also refuse the certificate of this client after the handshake.
      socket.on('error', reject)
    })
  } catch (error) {
    const code = systemErrorCode(error)
    if (NOT_TLS.has(code))
      throw new StartError(`something listens there, but it does not speak TLS (${code}): ${advice}`)
    throw unreachable(host, error, advice)
  }
}

/** Connects without TLS and reads the line with which the server begins. */
function readGreeting({ host, port }: ServerAddress, limit_ms: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // The time limit holds for the handshake on this socket too.
    const socket = connectPlain({ host, port, timeout: limit_ms })
    socket.once('timeout', () => socket.destroy(noAnswer(limit_ms)))
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.length > GREETING_MAX_BYTES) socket.destroy(new Error('its greeting has no end'))
      if (!received.includes('\n')) return
      socket.removeAllListeners('data').pause()
      resolve(socket)
    })
    socket.once('close', () => reject(new Error('it closed the connection')))
    socket.on('error', reject)
  })
}

function noAnswer(limit_ms: number): Error {
  return new Error(`no answer within ${limit_ms / 1_000} s`)
}
