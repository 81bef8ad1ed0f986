import { type LookupAddress, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { createSemaphore } from '#lib/base/limit.ts'
import { UnresolvedNameError } from './http-failure.ts'

/** One IP address of a host. */
export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Resolves a host to all its addresses. Throws `UnresolvedNameError` when it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>

const QUERY_TIMEOUT_MS = 1_500
const QUERY_TRIES = 2
const ADDRESSES_MAX = 16

/**
 * Makes a resolver that asks name servers directly. The lookup of the operating system would block one of the four
 * threads that the process shares for files and compression, until a slow name server answers. Consequently the
 * hosts file and search domains are not used, and `localhost` is always 127.0.0.1 (RFC 6761, R4).
 */
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  return async (hostname) => {
    const name = hostname.replace(/\.$/, '').toLowerCase()
    const family = isIP(name)
    if (family === 4 || family === 6) return [{ address: name, family }]
    if (name === 'localhost' || name.endsWith('.localhost')) return [{ address: '127.0.0.1', family: 4 }]
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer, at) =>
      answer.status === 'fulfilled'
        ? answer.value.map((address): HostAddress => ({ address, family: at === 0 ? 4 : 6 }))
        : [],
    )
    if (addresses.length === 0) {
      const [first] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
      throw new UnresolvedNameError(`${name} has no address`, { cause: first })
    }
    return addresses.slice(0, ADDRESSES_MAX)
  }
}

/** Calls the resolver of the operating system, as `dns.lookup` does. */
type SystemLookup = (hostname: string) => Promise<readonly LookupAddress[]>

/** Each lookup blocks one of the four threads that the process shares with files and compression. */
const LOOKUPS_MAX = 2

/** Longer than a caller of a request waits. */
const WAIT_MAX_MS = 30_000

/**
 * Makes a resolver for hosts that the operator configures. It finds what other programs of the machine find: names of the
 * hosts file, and short names by the search domains, such as `sandbox` in Kubernetes. Slow name servers block at most two
 * threads; further lookups wait for them, up to 30 s, and lookups of one host at the same time are one lookup.
 */
export function createSystemResolver(lookupHost: SystemLookup = lookupBySystem): ResolveHost {
  const under_way = new Map<string, Promise<readonly HostAddress[]>>()
  const running = createSemaphore({
    holders_max: LOOKUPS_MAX,
    refuse: () => new UnresolvedNameError('the name servers are too slow'),
  })

  const resolve = async (hostname: string): Promise<readonly HostAddress[]> => {
    const turn = running.acquire(WAIT_MAX_MS)
    if (turn !== undefined) await turn
    try {
      const addresses = await lookupHost(hostname)
      return addresses
        .slice(0, ADDRESSES_MAX)
        .map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
    } catch (cause) {
      throw new UnresolvedNameError(`${hostname} has no address`, { cause })
    } finally {
      running.release()
    }
  }
  return (hostname) => {
    const existing = under_way.get(hostname)
    if (existing !== undefined) return existing
    const started = resolve(hostname).finally(() => under_way.delete(hostname))
    under_way.set(hostname, started)
    return started
  }
}

const lookupBySystem: SystemLookup = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
