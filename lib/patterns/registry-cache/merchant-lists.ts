import type { Environment as ProtoEnvironment } from '#gen/multihub/common/v1/environment_pb.ts'
import { deepFreeze, type Frozen } from '#lib/base/deep-freeze.ts'
import { type Environment, environmentToProto } from '#lib/contract/environment.ts'
import { type CacheLimits, createReadThroughCache } from './read-through-cache.ts'

/** The request for a list of the registry: a merchant in one environment. */
export interface MerchantEnvironment {
  readonly merchantId: string
  readonly environment: ProtoEnvironment
}

/** The cached lists of one kind, one per merchant and environment. A merchant without a list has an empty one. */
export interface MerchantLists<T> {
  get(merchant_id: string, environment: Environment): Promise<readonly Frozen<T>[]>
  /** The list by a read that began after `instant`. */
  getReadAfter(merchant_id: string, environment: Environment, instant: Date): Promise<readonly Frozen<T>[]>
  /** Drops both lists of a merchant. */
  drop(merchant_id: string): void
  dropAll(): void
}

/** Makes the cache of one kind of list. The other parameters are those of `createReadThroughCache`. */
export function createMerchantLists<T>(
  read: (request: MerchantEnvironment) => Promise<readonly T[]>,
  confirmedAtMs: () => number,
  limits: CacheLimits,
): MerchantLists<T> {
  const cache = createReadThroughCache<readonly Frozen<T>[]>(
    async (key) => {
      const request = parseKey(key)
      return { merchant_id: request.merchantId, value: deepFreeze(await read(request)) }
    },
    confirmedAtMs,
    limits,
  )
  return {
    get: async (merchant_id, environment) => (await cache.get(keyOf(merchant_id, environment))) ?? [],
    getReadAfter: async (merchant_id, environment, instant) =>
      (await cache.getReadAfter(keyOf(merchant_id, environment), instant)) ?? [],
    drop(merchant_id) {
      for (const environment of ['test', 'production'] as const) cache.drop(keyOf(merchant_id, environment))
    },
    dropAll: () => cache.dropAll(),
  }
}

function keyOf(merchant_id: string, environment: Environment): string {
  return `${environment}/${merchant_id}`
}

function parseKey(key: string): MerchantEnvironment {
  const [environment, merchantId = ''] = key.split('/')
  return { merchantId, environment: environmentToProto(environment === 'test' ? 'test' : 'production') }
}
