import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { currentRequest } from '#lib/base/context.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'

/** An embedded store in a temporary directory. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store
  /** Makes the documents unavailable or available again. */
  setUnavailable(unavailable: boolean): void
}

/** Opens a store for a test or a file of tests. */
export async function openTestStore(): Promise<TestStore> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-store-'))
  const opened = await openStore({ database: 'test', directory, timeout_ms: HANG_LIMIT_MS })
  let is_unavailable = false
  return {
    store: withOutages(opened, () => is_unavailable),
    setUnavailable(unavailable) {
      is_unavailable = unavailable
    },
    async [Symbol.asyncDispose]() {
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Wraps a store whose documents can be made unavailable. */
export function withOutages(store: Store, isUnavailable: () => boolean): Store {
  const guarded = <T extends object>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        // The promise is the store's, because another write may follow it.
        return (...parameters: unknown[]) =>
          isUnavailable()
            ? Promise.reject(new Unavailable('the test made the store unavailable'))
            : member.apply(target, parameters)
      },
    })
  return { ...store, collection: async (spec) => guarded(await store.collection(spec)) }
}

/** The calls of collections that each request has made, by its request id. */
export type CallsByRequest = Map<string, string[]>

/**
 * Wraps a store so that each call which a request makes is recorded, such as `tickets.find by_h_id`. Background work belongs
 * to no request.
 */
export function withRecordedCalls(store: Store, calls: CallsByRequest): Store {
  const recorded = <T extends object>(inner: T, name: string): T =>
    new Proxy(inner, {
      get(target, member) {
        const method: unknown = Reflect.get(target, member)
        if (typeof method !== 'function') return method
        return (...parameters: unknown[]) => {
          const { request_id } = currentRequest() ?? {}
          if (request_id !== undefined) {
            const index = member === 'find' ? ` ${String(parameters[0])}` : ''
            const made = calls.get(request_id) ?? []
            calls.set(request_id, [...made, `${name}.${String(member)}${index}`])
          }
          return method.apply(target, parameters)
        }
      },
    })
  return { ...store, collection: async (spec) => recorded(await store.collection(spec), spec.name) }
}
