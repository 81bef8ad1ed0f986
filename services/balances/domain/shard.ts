import type { Environment } from '#lib/contract/environment.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'

/** The logical shards, a number that never changes: every journal lies where this function once put it. */
export const SHARDS = 256

const HALF = SHARDS / 2

/**
 * The shard of a merchant: the first byte of SHA-256 over the UTF-8 of the merchant's id, modulo 128; production
 * lies in the upper half (128 to 255). NEVER change it: balances would be looked for where they are not.
 */
export function shardOf(merchant_id: string, environment: Environment): number {
  const place = Number.parseInt(sha256Hex(merchant_id).slice(0, 2), 16) % HALF
  return environment === 'production' ? HALF + place : place
}

/** The environment that a shard belongs to. */
export function environmentOf(shard: number): Environment {
  return shard < HALF ? 'test' : 'production'
}

/** Whether a number names a shard: for numbers that arrive from another process. */
export function isShard(shard: number): boolean {
  return Number.isInteger(shard) && shard >= 0 && shard < SHARDS
}
