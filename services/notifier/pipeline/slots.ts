import type { Delivery, TryKind } from '../domain/delivery.ts'
import { isOrigin } from '../domain/destination.ts'

/** The scopes that each attempt counts in. A merchant counts by environment: its tests use up no slots of production. */
export type SlotScope = 'process' | 'merchant' | 'host' | 'origin' | 'endpoint'

/** What an attempt counts as in each scope: always one of `all`, and of the others that apply. */
export type SlotKind = 'all' | 'unproven' | 'sick' | 'retry'

/** How many attempts of each kind may be in progress at once. */
export type SlotLimits = Readonly<Record<SlotKind, number>>

/**
 * The limits of one notifier process. Sick receivers share a bounded part of the slots of each scope, and unproven ones
 * another part, so the rest stays free for healthy ones (N10). The host counts without its port, because a merchant could
 * otherwise multiply the limit (N9). An endpoint and an origin are the two kinds of destinations. An origin that stops to
 * answer leaves room for others of its merchant and host, whatever their health: its attempts that hang fill no pool of sick
 * or unproven ones.
 */
export const SLOT_LIMITS: Readonly<Record<SlotScope, SlotLimits>> = {
  process: { all: 2_048, unproven: 1_024, sick: 512, retry: 1_024 },
  merchant: { all: 512, unproven: 128, sick: 128, retry: 256 },
  host: { all: 256, unproven: 192, sick: 64, retry: 128 },
  origin: { all: 256, unproven: 64, sick: 32, retry: 128 },
  endpoint: { all: 64, unproven: 32, sick: 32, retry: 32 },
}

/** What is known of a receiver. A `sick` one fails or hangs; an `unproven` one does not, but has never succeeded. */
export type Health = 'healthy' | 'unproven' | 'sick'

/** Where an attempt goes, and what it counts as. */
export interface SlotUser extends Pick<Delivery, 'merchant_id' | 'environment' | 'destination_key'> {
  readonly host: string
  readonly try_kind: TryKind
  readonly health: Health
}

/** The right to make one attempt now. */
export interface Slot {
  /** Counts the attempt as one to a sick destination from now on. */
  countAsSick(): void
  /** Gives the slot back. Only the first call has an effect. */
  release(): void
}

/** The slots of one kind in one scope, such as the slots of a merchant for retries. */
export interface SlotPool {
  readonly scope: SlotScope
  /** Set while something waits until one of them is given back: then nothing else takes one. */
  is_waited_for: boolean
}

/** The slot that was taken, or the first pool in which there is none. */
export type SlotResult =
  | { readonly slot: Slot; readonly lacks?: undefined }
  | { readonly slot?: undefined; readonly lacks: SlotPool }

/** The slots of a process. */
export type Slots = ReturnType<typeof createSlots>

/** The key of a merchant in an environment. */
export function merchantKeyOf({ merchant_id, environment }: Pick<SlotUser, 'merchant_id' | 'environment'>) {
  return `${environment} ${merchant_id}`
}

interface Pool extends SlotPool {
  /** The process, merchant, host or destination. */
  readonly key: string
  readonly max: number
  used: number
}

/** The pools of one process, merchant, host or destination. */
type Pools = Readonly<Record<SlotKind, Pool>>

/** Creates the slots of a process. */
export function createSlots(limits: Readonly<Record<SlotScope, SlotLimits>> = SLOT_LIMITS) {
  const pools_in = newPoolMaps()
  const freed_pools = new Set<Pool>()
  const in_use = { healthy: 0, unproven: 0, sick: 0 }

  function poolsOf(scope: SlotScope, key: string): Pools {
    const pools = pools_in[scope].get(key) ?? newPools(scope, key, limits[scope])
    pools_in[scope].set(key, pools)
    return pools
  }

  /** Forgets the pools of a scope in which there is no attempt any more. */
  function forgetUnused({ scope, key }: Pool): void {
    const pools = pools_in[scope].get(key)
    if (pools?.all.used === 0 && !Object.values(pools).some(({ is_waited_for }) => is_waited_for))
      pools_in[scope].delete(key)
  }

  function giveBack(pool: Pool): void {
    pool.used -= 1
    if (pool.is_waited_for) freed_pools.add(pool)
    else forgetUnused(pool)
  }

  /** Makes the slot of an attempt that was counted in these pools. */
  function newSlot(scopes: readonly Pools[], pools: Pool[], health: Health): Slot {
    let counted_as = health
    let is_released = false
    in_use[health] += 1
    return {
      countAsSick() {
        if (counted_as === 'sick' || is_released) return
        in_use[counted_as] -= 1
        in_use.sick += 1
        counted_as = 'sick'
        // The slots beyond the bound of its destination were taken while that was healthy. They end with their attempts, and
        // must not keep other sick destinations waiting until then.
        const of_destination = scopes.at(-1)
        if (of_destination !== undefined && !hasRoom(of_destination.sick)) return
        // It stays in the unproven pools. Otherwise receivers that hang at first would fill them again and again.
        for (const { sick } of scopes) {
          sick.used += 1
          pools.push(sick)
        }
      },
      release() {
        if (is_released) return
        is_released = true
        in_use[counted_as] -= 1
        for (const pool of pools) giveBack(pool)
      },
    }
  }

  return {
    /**
     * Takes a slot in every pool that the attempt counts in. It does not overtake what waits in one of them, except in
     * `freed`: there it is the next.
     */
    take(user: SlotUser, freed?: SlotPool): SlotResult {
      const kinds = kindsOf(user)
      const keys = keysOf(user)
      for (const [scope, key] of keys) {
        const pools = pools_in[scope].get(key)
        const lacks = kinds
          .map((kind) => pools?.[kind])
          .find((pool) => pool && (!hasRoom(pool) || (pool !== freed && pool.is_waited_for)))
        if (lacks) return { lacks }
      }
      const scopes = keys.map(([scope, key]) => poolsOf(scope, key))
      const pools = scopes.flatMap((scope) => kinds.map((kind) => scope[kind]))
      for (const pool of pools) pool.used += 1
      return { slot: newSlot(scopes, pools, user.health) }
    },
    /** A pool in which something waits although a slot was given back; `undefined` without one. */
    nextFreed(): SlotPool | undefined {
      for (const pool of freed_pools) {
        if (hasRoom(pool) && pool.is_waited_for) return pool
        freed_pools.delete(pool)
        forgetUnused(pool)
      }
      return undefined
    },
    /** The attempts in progress, by the health of their destinations. */
    inUse: (): Readonly<Record<Health, number>> => ({ ...in_use }),
  }
}

function newPoolMaps(): Readonly<Record<SlotScope, Map<string, Pools>>> {
  return {
    process: new Map(),
    merchant: new Map(),
    host: new Map(),
    origin: new Map(),
    endpoint: new Map(),
  }
}

function newPools(scope: SlotScope, key: string, limits: SlotLimits): Pools {
  const newPool = (kind: SlotKind): Pool => ({ scope, key, max: limits[kind], used: 0, is_waited_for: false })
  return {
    all: newPool('all'),
    unproven: newPool('unproven'),
    sick: newPool('sick'),
    retry: newPool('retry'),
  }
}

/** The scopes of an attempt with their keys, the widest first. */
function keysOf(user: SlotUser): readonly (readonly [SlotScope, string])[] {
  return [
    ['process', ''],
    ['merchant', merchantKeyOf(user)],
    ['host', user.host],
    [isOrigin(user.destination_key) ? 'origin' : 'endpoint', user.destination_key],
  ]
}

function kindsOf({ health, try_kind }: SlotUser): readonly SlotKind[] {
  const kinds: SlotKind[] = ['all']
  if (health !== 'healthy') kinds.push(health)
  if (try_kind === 'retry') kinds.push('retry')
  return kinds
}

function hasRoom({ used, max }: Pool): boolean {
  return used < max
}
