import { connect, type NetConnectOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { describedSetting, optionalSetting, setting } from '#lib/base/config/config.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { simulatedNetwork } from '#lib/http/network.ts'

/** The virus scanner: the address of clamd, or `none` to accept files without a scan. */
export type Scanner = ClamdAddress | 'none'

/** The word that accepts files without a scan. Only a local run permits it (F5). */
export const NO_SCANNER = 'none'

const TCP = /^clamd:\/\/([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(\d{1,5})$/
const UNIX = /^unix:(\/.{1,100})$/

/** Where clamd listens. Without a scanner uploaded files wait, unscanned and unusable (F5). */
export const SCANNER_SETTING = describedSetting(
  'The virus scanner (clamd) of uploaded files. Without one they stay `scanning`. `none` accepts them without a scan; ' +
    'only the local run permits it.',
  optionalSetting(
    setting<Scanner>(
      'MULTIHUB_SCANNER',
      'clamd://host:port, unix:/path/of/clamd.sock, or none',
      z.string().transform((text, { addIssue }): Scanner => {
        if (text === NO_SCANNER) return NO_SCANNER
        const [, host, port] = TCP.exec(text) ?? []
        if (host !== undefined && Number(port) <= 65_535)
          return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
        const [, path] = UNIX.exec(text) ?? []
        if (path !== undefined) return { path }
        addIssue('not a scanner')
        return z.NEVER
      }),
    ),
  ),
)

/** Where clamd listens: a host and port, or the path of a Unix socket. */
export type ClamdAddress = { readonly host: string; readonly port: number } | { readonly path: string }

const COMMAND = 'zINSTREAM\0'
/** Longer responses are not of the protocol. */
const RESPONSE_MAX_BYTES = 4_096

/**
 * Opens a connection to clamd for one exchange. `timeout_ms` limits it as a whole: then the connection is destroyed, so
 * that everything that waits for it throws.
 */
async function exchange<T>(
  address: ClamdAddress,
  timeout_ms: number,
  talk: (socket: Duplex) => Promise<T>,
): Promise<T> {
  const options: NetConnectOpts = { ...address }
  const socket = simulatedNetwork()?.connect(options) ?? connect(options)
  const timer = clock.after(timeout_ms, () =>
    socket.destroy(new Error(`no response within ${timeout_ms} ms`)),
  )
  try {
    return await talk(socket)
  } finally {
    timer.cancel()
    socket.destroy()
  }
}

/**
 * Sends bytes to clamd by its command INSTREAM and returns its response, such as `stream: OK`. clamd may answer before it
 * has read everything, and then closes the connection: an early response says nothing of the rest of the bytes. Throws
 * `Unavailable` when there is no response: clamd is down, hangs, closes, or answers without end, or `bytes` throws.
 */
export async function scanStream(
  address: ClamdAddress,
  bytes: AsyncIterable<Uint8Array>,
  timeout_ms: number,
): Promise<{ readonly text: string; readonly is_early: boolean }> {
  try {
    return await exchange(address, timeout_ms, async (socket) => {
      let is_sent = false
      // The response decides, also when sending failed because clamd had answered already.
      send(socket, bytes).then(
        () => {
          is_sent = true
        },
        (error: unknown) => socket.destroy(error instanceof Error ? error : new Error(String(error))),
      )
      const text = await readResponse(socket)
      return { text, is_early: !is_sent }
    })
  } catch (cause) {
    throw new Unavailable('the virus scanner gave no response; check that clamd is running', { cause })
  }
}

/** Each chunk is preceded by its length, and a length of 0 ends the stream. */
async function send(socket: Duplex, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await write(socket, Buffer.from(COMMAND, 'latin1'))
  for await (const chunk of bytes) {
    if (chunk.length === 0) continue
    await write(socket, lengthOf(chunk.length))
    await write(socket, chunk)
  }
  await write(socket, lengthOf(0))
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes)
  return length
}

/** Resolves when the bytes were given to the system, so that a slow scanner bounds the memory. Rejects when it is gone. */
function write(socket: Duplex, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new Error('clamd closed the connection'))
    socket.once('close', onClose)
    socket.write(bytes, (error) => {
      socket.off('close', onClose)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Resolves with the text before the first NUL. Rejects when clamd closes the connection without one. */
function readResponse(socket: Duplex): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\0')
      if (end >= 0) resolve(text.slice(0, end))
      else if (text.length > RESPONSE_MAX_BYTES) reject(new Error('the response is too long'))
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('clamd closed the connection without a response')))
  })
}

const FOUND = /^stream: (.+) FOUND$/
/** clamd reports a file that it could not scan completely (`AlertExceedsMax`) like a virus of this name. */
const LIMIT_HIT = /^Heuristics\.Limits\.Exceeded/

/**
 * Reads a response of clamd. Only exactly `stream: OK` is clean, and only after all bytes were sent (F5). A limit of size or
 * nesting that was hit, an error, and everything else mean that the file was not scanned.
 */
export function toScanVerdict(text: string, is_early: boolean): 'clean' | 'infected' | 'none' {
  if (text === 'stream: OK') return is_early ? 'none' : 'clean'
  const [, name] = FOUND.exec(text) ?? []
  return name === undefined || LIMIT_HIT.test(name) ? 'none' : 'infected'
}

/** Sends a command without content to clamd and returns its response. Throws `Unavailable` when there is none in time. */
export async function askClamd(
  address: ClamdAddress,
  command: 'PING' | 'VERSION',
  timeout_ms: number,
): Promise<string> {
  try {
    return await exchange(address, timeout_ms, (socket) => {
      socket.write(`z${command}\0`)
      return readResponse(socket)
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Unavailable(`the virus scanner does not answer ${command} (${reason})`, { cause })
  }
}
