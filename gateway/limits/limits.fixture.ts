import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import { type GatewayStore, openGatewayStore } from '../store.ts'
import type { LimitedCaller } from './limits.ts'

/** The gateway's collections on an embedded store of their own. */
export interface GatewayStoreFixture extends GatewayStore, AsyncDisposable {
  readonly store: Store
}

/** Time jumps in the tests, which is no reason for the store to give up what it is at. */
const TIMEOUT_MS = 86_400_000

/** Opens an empty one. */
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

/** A caller without a daily limit and with the default quotas, unless a test says otherwise. */
export function limitedCaller(given: Partial<LimitedCaller> = {}): LimitedCaller {
  return { application_id: '1001', daily_limit: 0n, rate_limits: new Map(), ...given }
}

/** What became of a number of calls. */
export interface OutcomeCounts {
  readonly admitted: number
  readonly refused: number
  readonly unavailable: number
}

/** Makes calls at once and counts what became of them; what is neither admitted nor 429 nor 2002 is thrown. */
export async function countOutcomes(
  count: number,
  call: (place: number) => Promise<void>,
): Promise<OutcomeCounts> {
  const results = await Promise.all(Array.from({ length: count }, (_, place) => outcomeOf(call(place))))
  const of = (outcome: keyof OutcomeCounts): number => results.filter((result) => result === outcome).length
  return { admitted: of('admitted'), refused: of('refused'), unavailable: of('unavailable') }
}

async function outcomeOf(call: Promise<void>): Promise<keyof OutcomeCounts> {
  try {
    await call
    return 'admitted'
  } catch (error) {
    if (error instanceof PublicError && error.http === 429) return 'refused'
    if (error instanceof PublicError && error.code === 2002) return 'unavailable'
    throw error
  }
}

/** What a test does around a call of a collection: it calls `work` to let it through to the store. */
export type Interceptor = <T>(kind: 'read' | 'write', work: () => Promise<T>) => Promise<T>

/** The collection, with something in its way. */
export function interceptCalls<D extends object>(
  collection: Collection<D>,
  around: Interceptor,
): Collection<D> {
  return {
    ...collection,
    get: (key) => around('read', () => collection.get(key)),
    insert: (document) => around('write', () => collection.insert(document)),
    replace: (document, version) => around('write', () => collection.replace(document, version)),
  }
}

/** Lets the calls through from `first` on of the writes, but loses their answers until `last`, the first being 1. */
export function loseWriteResults(first: number, last: number): Interceptor {
  let writes = 0
  return async (kind, work) => {
    const result = await work()
    if (kind === 'read') return result
    writes += 1
    if (writes >= first && writes <= last) throw new Ambiguous('the answer was lost')
    return result
  }
}
