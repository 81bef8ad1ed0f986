import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'

/** The number of logical shards. WARNING: never change it, because every journal is stored under its shard. */
export const SHARDS = 256

const SHARDS_PER_ENVIRONMENT = SHARDS / 2

/**
 * The shard of a merchant: the first byte of SHA-256 over the UTF-8 of the merchant id, modulo 128. Production uses
 * the upper half (128 to 255). WARNING: never change it, or existing balances are not found any more.
 */
export function shardOf(merchant_id: string, environment: Environment): number {
  const index = Number.parseInt(sha256Hex(merchant_id).slice(0, 2), 16) % SHARDS_PER_ENVIRONMENT
  return environment === 'production' ? SHARDS_PER_ENVIRONMENT + index : index
}

/** The environment that a shard belongs to. */
export function environmentOfShard(shard: number): Environment {
  return shard < SHARDS_PER_ENVIRONMENT ? 'test' : 'production'
}

/** Whether a number is the number of a shard. It checks numbers that another process sent. */
export function isShard(shard: number): boolean {
  return Number.isInteger(shard) && shard >= 0 && shard < SHARDS
}
