import { isIP, type LookupFunction, Socket } from 'node:net'
import { buildConnector } from 'undici'
import type { AddressPolicy } from './address-policy.ts'
import { RefusedAddressError } from './http-failure.ts'
import type { ResolveHost } from './resolve-host.ts'

/**
 * Begins to connect, and calls back once with the connected socket or the error. Returns the socket while it connects, so
 * that the caller can end the attempt.
 */
export type Connect = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
) => Socket | undefined

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
