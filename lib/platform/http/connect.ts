import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import type { AddressPolicy } from './address-policy.ts'
import { RefusedAddressError } from './http-failure.ts'
import type { ResolveHost } from './resolve-host.ts'

/**
 * Opens connections to permitted addresses only. It resolves a host once and connects to exactly the addresses that it
 * checked, so that DNS rebinding cannot exchange them. A host is refused when any of its addresses is. A host that is
 * an IP address is checked separately, because it never reaches the lookup.
 */
export function createConnect(
  allow: AddressPolicy,
  resolve: ResolveHost,
  connect_timeout_ms: number,
): buildConnector.connector {
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
  const connect = buildConnector({
    allowH2: false,
    timeout: connect_timeout_ms,
    lookup,
    autoSelectFamily: true,
  })
  return (options, callback) => {
    if (isIP(options.hostname) !== 0 && !allow(options.hostname)) {
      queueMicrotask(() => callback(new RefusedAddressError(`${options.hostname} is not permitted`), null))
    } else connect(options, callback)
  }
}
