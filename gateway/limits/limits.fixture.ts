import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { installManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { type GatewayStore, openGatewayStore } from '../store.ts'
import { createLimits, type LimitedCaller, type Limits } from './limits.ts'

/** The gateway's collections on their own embedded store. */
export interface GatewayStoreFixture extends GatewayStore, AsyncDisposable {
  readonly store: Store
}

/** Long, because tests move the clock while the store works. */
const TIMEOUT_MS = 86_400_000

/** Opens empty collections. */
export async function openGatewayStoreFixture(): Promise<GatewayStoreFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-limits-'))
  const store = await openStore({ database: 'gateway', directory, timeout_ms: TIMEOUT_MS })
  return {
    ...(await openGatewayStore(store)),
    store,
    async [Symbol.asyncDispose]() {
      await store.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A method with a large default quota, whose tokens are leased. */
export const FREQUENT_METHOD = 'payment.in'

/** The tokens of the first lease of that method. */
export const FIRST_LEASE = 1_000

/** The tokens of an idle lease are returned after this time, and at most a second later. */
export const IDLE_MS = 5_000

/** The collections of the gateway, while this process has a manual clock. Disposal gives the clock back. */
export interface LimitsFixture extends GatewayStoreFixture {
  readonly clock: ManualClock
  /** Makes the limits of a gateway, which disposal closes. */
  startLimits(counters?: GatewayStore['counters'], leases_max?: number): Limits
}

/** Opens empty collections, and sets the clock. */
export async function openLimitsFixture(): Promise<LimitsFixture> {
  const gateway_store = await openGatewayStoreFixture()
  const clock = installManualClock()
  const started: Limits[] = []
  return {
    ...gateway_store,
    clock,
    startLimits(counters = gateway_store.counters, leases_max) {
      const limits = createLimits(counters, leases_max === undefined ? {} : { leases_max })
      started.push(limits)
      return limits
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((limits) => limits.close()))
      clock[Symbol.dispose]()
      await gateway_store[Symbol.asyncDispose]()
    },
  }
}

/** Makes a caller; by default without a daily limit and with the default quotas. */
export function limitedCaller(changes: Partial<LimitedCaller> = {}): LimitedCaller {
  return { application_id: '1001', daily_limit: 0n, rate_limits: new Map(), ...changes }
}

/** How many calls had each outcome. */
export interface OutcomeCounts {
  readonly allowed: number
  readonly refused: number
  readonly unavailable: number
}

/** Makes calls concurrently and counts their outcomes. Throws for an error that is neither 429 nor 2002. */
export async function countOutcomes(
  count: number,
  call: (index: number) => Promise<void>,
): Promise<OutcomeCounts> {
  const results = await Promise.all(Array.from({ length: count }, (_, index) => outcomeOf(call(index))))
  const of = (outcome: keyof OutcomeCounts): number => results.filter((result) => result === outcome).length
  return { allowed: of('allowed'), refused: of('refused'), unavailable: of('unavailable') }
}

async function outcomeOf(call: Promise<void>): Promise<keyof OutcomeCounts> {
  try {
    await call
    return 'allowed'
  } catch (error) {
    if (error instanceof PublicError && error.http === 429) return 'refused'
    if (error instanceof PublicError && error.code === 2002) return 'unavailable'
    throw error
  }
}

/** Runs in place of a call to a collection; it calls `work` to pass the call to the store. */
export type Interceptor = <T>(kind: 'read' | 'write', work: () => Promise<T>) => Promise<T>

/** Passes the calls of a collection through an interceptor. */
export function interceptCalls<D extends object>(
  collection: Collection<D>,
  intercept: Interceptor,
): Collection<D> {
  return {
    ...collection,
    get: (key) => intercept('read', () => collection.get(key)),
    insert: (document) => intercept('write', () => collection.insert(document)),
    replace: (document, version) => intercept('write', () => collection.replace(document, version)),
  }
}

/** Passes all calls, but loses the responses to the writes from number `first` to number `last`, counted from 1. */
export function loseWriteResults(first: number, last: number): Interceptor {
  let writes = 0
  return async (kind, work) => {
    const result = await work()
    if (kind === 'read') return result
    writes += 1
    if (writes >= first && writes <= last) throw new Ambiguous('the response was lost')
    return result
  }
}
