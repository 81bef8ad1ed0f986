import { type LookupAddress, lookup } from 'node:dns'
import { UnresolvedNameError } from './http-failure.ts'
import type { HostAddress, ResolveHost } from './resolve-host.ts'

/** Calls the resolver of the operating system, as `dns.lookup` does. */
export type SystemLookup = (hostname: string) => Promise<readonly LookupAddress[]>

/** Each lookup blocks one of the four threads that the process shares with files and compression. */
const LOOKUPS_MAX = 2
const ADDRESSES_MAX = 16

/**
 * Makes a resolver for hosts that the operator configures. It finds what other programs of the machine find: names of the
 * hosts file, and short names by the search domains, such as `sandbox` in Kubernetes. Slow name servers block at most two
 * threads; further lookups wait for them, and lookups of one host at the same time are one lookup.
 */
export function createSystemResolver(lookupHost: SystemLookup = lookupBySystem): ResolveHost {
  const under_way = new Map<string, Promise<readonly HostAddress[]>>()
  const waiting: (() => void)[] = []
  let running = 0

  const resolve = async (hostname: string): Promise<readonly HostAddress[]> => {
    if (running >= LOOKUPS_MAX) await new Promise<void>((proceed) => waiting.push(proceed))
    else running += 1
    try {
      const addresses = await lookupHost(hostname)
      return addresses
        .slice(0, ADDRESSES_MAX)
        .map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
    } catch (cause) {
      throw new UnresolvedNameError(`${hostname} has no address`, { cause })
    } finally {
      // The next lookup takes over this one's place.
      const proceed = waiting.shift()
      if (proceed === undefined) running -= 1
      else proceed()
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
