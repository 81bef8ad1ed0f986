import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { UnresolvedNameError } from './http-failure.ts'

/** One address of a host. */
export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Finds all addresses of a host; throws `NameUnresolved` when there is none. */
export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>

const QUERY_TIMEOUT_MS = 1_500
const QUERY_TRIES = 2
const ADDRESSES_MAX = 16

const LOCALHOST: readonly HostAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Resolves names by asking name servers directly: the system's own look-up occupies one of the four threads that the
 * whole process has for files and compression, for as long as a slow name server likes. So neither the hosts file
 * nor search domains count: names are full ones, and `localhost` is this machine by definition (RFC 6761).
 */
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  return async (hostname) => {
    const name = hostname.replace(/\.$/, '').toLowerCase()
    const family = isIP(name)
    if (family === 4 || family === 6) return [{ address: name, family }]
    if (name === 'localhost' || name.endsWith('.localhost')) return LOCALHOST
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
