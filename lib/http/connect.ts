import { isIP, type LookupFunction, Socket } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'
import type { AddressPolicy } from './address-policy.ts'
import { OversizedResponseError, RefusedAddressError } from './http-failure.ts'
import type { ResolveHost } from './resolve-host.ts'

/**
 * Begins to connect, and calls back once with the connected socket or the error. Returns the socket while it connects, so
 * that the caller can end the attempt.
 */
type Connect = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket | undefined

/**
 * Opens connections to permitted addresses only (N9). It resolves a host once and connects to exactly the addresses that
 * it checked, so that DNS rebinding cannot exchange them. A host is refused when any of its addresses is. A host that is
 * an IP address is checked separately, because it never reaches the lookup. A socket that is connected to another address
 * all the same is closed before a byte of the request is written.
 */
export function createConnect(
  allow: AddressPolicy,
  resolve: ResolveHost,
  connect_timeout_ms: number,
): Connect {
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (first === undefined || !addresses.every(({ address }) => allow(address))) {
          callback(new RefusedAddressError(`${hostname} resolves to an address that is not permitted`), '')
        } else if (options.all === true) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
  // The type of undici hides the result: the socket, while it connects.
  const connect: (...parameters: Parameters<buildConnector.connector>) => unknown = buildConnector({
    allowH2: false,
    timeout: connect_timeout_ms,
    lookup,
    autoSelectFamily: true,
  })
  return (options, callback) => {
    if (isIP(options.hostname) !== 0 && !allow(options.hostname)) {
      queueMicrotask(() => callback(new RefusedAddressError(`${options.hostname} is not permitted`), null))
      return undefined
    }
    const socket = connect(options, (...[error, connected]) => {
      if (error !== null || allow(connected.remoteAddress ?? '')) {
        if (error === null) callback(null, connected)
        else callback(error, null)
        return
      }
      connected.destroy()
      callback(new RefusedAddressError(`${options.hostname} is not permitted`), null)
    })
    return socket instanceof Socket ? socket : undefined
  }
}

/** One connection to an origin, which carries one request at a time. */
export interface Connection extends Pick<Dispatcher, 'destroy'> {
  /**
   * Sends a request. A response of more than `read_max_bytes` on the wire fails with an `OversizedResponseError`, whatever
   * they are: the transport alone would read an endless status line, or empty lines before it, without a limit.
   */
  dispatch(
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    read_max_bytes: number,
  ): void
}

/** Makes a connection to an origin; `onClosed` is called whenever its socket was closed. */
export type OpenConnection = (origin: string, onClosed: () => void) => Connection

/** How long an idle connection stays open, and how long one lives at most. */
interface ConnectionTimes {
  /** 0: a connection is closed after its first request. */
  readonly keep_alive_ms: number
  readonly life_ms: number
}

/** The largest header of a response. */
export const HEADER_MAX_BYTES = 16 * 1024

/** Makes the function that opens connections with HTTP/1.1. Destroying one also ends a connection attempt in progress. */
export function createOpenConnection(
  connect: Connect,
  { keep_alive_ms, life_ms }: ConnectionTimes,
): OpenConnection {
  return (origin, onClosed) => {
    let connecting: Socket | undefined
    let connected: Socket | undefined
    let read_until_bytes = 0
    const client = new Client(origin, {
      connect(options, callback) {
        connecting = connect(options, (...[error, socket]) => {
          connecting = undefined
          if (error !== null) return callback(error, null)
          connected = socket.on('readable', () => {
            if (socket.bytesRead > read_until_bytes) socket.destroy(new OversizedResponseError())
          })
          callback(null, socket)
        })
      },
      pipelining: keep_alive_ms === 0 ? 0 : 1,
      keepAliveTimeout: Math.max(1, Math.min(keep_alive_ms, life_ms)),
      keepAliveMaxTimeout: life_ms,
      maxHeaderSize: HEADER_MAX_BYTES,
      // `timeout_ms` of each request limits the whole of it; these two would only limit the pauses within it.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    })
    client.on('disconnect', onClosed)
    return {
      dispatch(request, handler, read_max_bytes) {
        // The first request of a connection is dispatched before there is a socket.
        read_until_bytes = (connected?.bytesRead ?? 0) + read_max_bytes
        client.dispatch(request, handler)
      },
      async destroy() {
        connecting?.destroy(new Error('the request has ended'))
        await client.destroy()
      },
    }
  }
}
