import { Resolver } from 'node:dns/promises'

/** Makes the name servers that this process asks return one IPv4 address for each name, until the result is disposed. */
export function answerEveryName(address: string): Disposable {
  const { resolve4, resolve6 } = Resolver.prototype
  Object.assign(Resolver.prototype, { resolve4: async () => [address], resolve6: async () => [] })
  return { [Symbol.dispose]: () => void Object.assign(Resolver.prototype, { resolve4, resolve6 }) }
}
