import dns from 'node:dns'

/** The address of each copy of a role. All of 127.0.0.0/8 is this machine, so copies can have the same ports. */
export const COPY_HOSTS = ['127.0.0.1', '127.0.0.2'] as const

const DOMAIN = '.copies.test'

/** The name that has the addresses of all copies of a role, like a headless service of Kubernetes. */
export function copiesOf(role: string): string {
  return `${role}${DOMAIN}`
}

/** Makes the names of copies resolve in this process, so that its gRPC clients spread calls over all copies. */
export function resolveCopies(): void {
  const { lookup } = dns.promises
  const resolve = async (name: string, options: dns.LookupOptions): Promise<unknown> =>
    name.endsWith(DOMAIN) ? COPY_HOSTS.map((address) => ({ address, family: 4 })) : lookup(name, options)
  Object.assign(dns.promises, { lookup: resolve })
}
