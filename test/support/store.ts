import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/store.ts'
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
        // The promise is that of the store, because another write may follow it.
        return (...parameters: unknown[]) =>
          isUnavailable()
            ? Promise.reject(new Unavailable('the test made the store unavailable'))
            : member.apply(target, parameters)
      },
    })
  return { ...store, collection: async (spec) => guarded(await store.collection(spec)) }
}
