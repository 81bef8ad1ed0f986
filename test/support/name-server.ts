import { Resolver } from 'node:dns/promises'

/** Makes the name servers that this process asks return these IPv4 addresses for each name, until the result is disposed. */
export function answerEveryName(...addresses: string[]): Disposable {
  const { resolve4, resolve6 } = Resolver.prototype
  Object.assign(Resolver.prototype, { resolve4: async () => addresses, resolve6: async () => [] })
  return { [Symbol.dispose]: () => void Object.assign(Resolver.prototype, { resolve4, resolve6 }) }
}

/** Makes the name servers know no name, until the result is disposed. `names` has those that this process asked for. */
export function answerNoName(): Disposable & { readonly names: readonly string[] } {
  const { resolve4, resolve6 } = Resolver.prototype
  const names: string[] = []
  const refuse = async (name: string): Promise<never> => {
    names.push(name)
    throw new Error('no such name')
  }
  Object.assign(Resolver.prototype, { resolve4: refuse, resolve6: refuse })
  return { names, [Symbol.dispose]: () => void Object.assign(Resolver.prototype, { resolve4, resolve6 }) }
}
