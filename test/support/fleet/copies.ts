import dns from 'node:dns'

const DOMAIN = '.copies.test'

/**
 * The address of a copy of a role, counted from 0. All of 127.0.0.0/8 is this machine, so copies can have the same ports.
 */
export function hostOfCopy(index: number): string {
  return `127.0.0.${index + 1}`
}

/** The name that has the addresses of all copies of a role, like a headless service of Kubernetes. */
export function nameOfCopies(role: string, count: number): string {
  return `${count}-${role}${DOMAIN}`
}

/** Makes the names of copies resolve in this process, so that its gRPC clients spread calls over all copies. */
export function resolveCopies(): void {
  const { lookup } = dns.promises
  const resolve = async (name: string, options: dns.LookupOptions): Promise<unknown> => {
    if (!name.endsWith(DOMAIN)) return lookup(name, options)
    const count = Number.parseInt(name, 10)
    return Array.from({ length: count }, (_, index) => ({ address: hostOfCopy(index), family: 4 }))
  }
  Object.assign(dns.promises, { lookup: resolve })
}
