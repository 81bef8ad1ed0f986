import { sha256Hex } from '#lib/base/crypto/hash.ts'

/**
 * The addresses in the order in which they should own a piece of work (rendezvous hashing). Each process computes the
 * same order. When a process joins or leaves, only the work that it gets or had moves.
 */
export function rankMembers(work: string, addresses: readonly string[]): readonly string[] {
  const hashed = addresses.map((address) => ({ address, hash: sha256Hex(`${work} ${address}`) }))
  return hashed.sort((one, other) => (one.hash < other.hash ? 1 : -1)).map(({ address }) => address)
}
