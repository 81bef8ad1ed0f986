import { connect } from 'node:net'
import { StartError } from '#lib/base/start-error.ts'
import { systemErrorCode } from '#lib/base/system-error-code.ts'

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
