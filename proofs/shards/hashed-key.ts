import { createHash } from 'node:crypto'

/** The place of strings in the order of MongoDB's types. */
const STRING = 15

/**
 * The value of a string in MongoDB's hashed indexes: the first 64 bits, little-endian, of the MD5 over a seed of 0, the place
 * of the type in the order of types, and the BSON value. The test beside it has values that MongoDB's own tests publish.
 */
export function hashedKey(text: string): bigint {
  const bytes = Buffer.from(text)
  const head = Buffer.alloc(12)
  head.writeInt32LE(STRING, 4)
  head.writeInt32LE(bytes.length + 1, 8)
  return createHash('md5').update(head).update(bytes).update('\0').digest().readBigInt64LE(0)
}

/**
 * The server of a hash, as a number: MongoDB gives each server an equal part of the hashes when it shards an empty collection
 * (its page "Hashed Sharding").
 */
export function serverOfHash(hash: bigint, servers: number): number {
  return Number(((hash + 2n ** 63n) * BigInt(servers)) >> 64n)
}
