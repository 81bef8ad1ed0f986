import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { describedSetting } from '#lib/base/config/config.ts'
import { listSetting } from '#lib/base/config/settings.ts'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import {
  type AddressPolicy,
  allowPublicAddresses,
  allowPublicAddressesAnd,
  isIpRange,
} from './address-policy.ts'
import { simulatedNetwork } from './network.ts'

/**
 * The setting that permits callbacks of the test environment to addresses that are not public. Only the local run may
 * have it; every other start refuses it (N9, R4). Every role that checks or calls callback URLs reads it.
 */
export const CALLBACK_ALLOW_SETTING = describedSetting(
  'Address ranges that are not public and may receive callbacks of the test environment. Only the local run (`npm start`) may have it.',
  listSetting('MULTIHUB_CALLBACK_ALLOW', {
    of: 'address ranges such as 127.0.0.1/32',
    item: z.string().refine(isIpRange),
    fallback: [],
  }),
)

/** Makes the address policy of each environment. Production always permits public addresses only. */
export function createCallbackAddressPolicies(
  allow: readonly string[],
): (environment: Environment) => AddressPolicy {
  const policies = { test: allowPublicAddressesAnd(allow), production: allowPublicAddresses }
  return (environment) => policies[environment]
}

/**
 * Whether a callback URL that `checkCallbackUrl` accepted has a host without refused addresses (N9). A host that has no
 * address, or whose name servers do not answer in time, is accepted: each delivery checks its connection again. Never
 * rejects.
 */
export type CallbackHostCheck = (url: string, environment: Environment) => Promise<boolean>

/** Returns addresses of a host, of one family. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** How long a request waits for the addresses of a name (N9). */
const TIMEOUT_MS = 300
/** How long a response is used again. Merchants send the same host with every request. */
const REMEMBERED_MS = 5_000
const HOSTS_MAX = 10_000

interface Resolution {
  /** The addresses so far: a lookup that is late adds its own for later requests. */
  readonly addresses: string[]
  /** Resolves when all lookups have ended, or when the time is over. */
  readonly waited: Promise<unknown>
  readonly expires_ms: number
}

/** Makes the check of a process. `policyFor` says which addresses callbacks of an environment may go to. */
export function createCallbackHostCheck(
  policyFor: (environment: Environment) => AddressPolicy,
  lookups: readonly Lookup[] = nameServerLookups(),
): CallbackHostCheck {
  const resolutions = new LRUCache<string, Resolution>(entriesUpTo(HOSTS_MAX))
  const resolve = (hostname: string): Resolution => {
    const known = resolutions.get(hostname)
    if (known !== undefined && known.expires_ms > clock.monotonic_ms()) return known
    const addresses: string[] = []
    const add = (more: readonly string[]): void => void addresses.push(...more)
    const waited = withTimeout(
      Promise.allSettled(lookups.map((lookUp) => lookUp(hostname).then(add))),
      TIMEOUT_MS,
    )
    const resolution = { addresses, waited, expires_ms: clock.monotonic_ms() + REMEMBERED_MS }
    resolutions.set(hostname, resolution)
    return resolution
  }
  return async (url, environment) => {
    const hostname = URL.parse(url)?.hostname ?? ''
    // `checkCallbackUrl` has judged `localhost`, and an address that is written in the URL itself.
    if (hostname === 'localhost' || hostname.startsWith('[') || isIP(hostname) !== 0) return true
    const { addresses, waited } = resolve(hostname)
    await waited
    return addresses.every(policyFor(environment))
  }
}

/** Asks the name servers of the machine directly, as deliveries do, and only once, because the time is short. */
function nameServerLookups(): readonly Lookup[] {
  const network = simulatedNetwork()
  if (network !== undefined) return [network.lookup]
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  return [(hostname) => resolver.resolve4(hostname), (hostname) => resolver.resolve6(hostname)]
}
