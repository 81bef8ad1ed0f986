import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
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

const LOCALHOST: readonly HostAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Makes a resolver that asks name servers directly. The lookup of the operating system would block one of the four
 * threads that the process shares for files and compression, until a slow name server answers. Consequently the
 * hosts file and search domains are not used, and `localhost` is always this machine (RFC 6761).
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
