import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/port.ts'

/** An embedded store in a directory of its own, which is deleted afterwards. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store
  /** Takes the documents away, or gives them back. */
  setUnavailable(away: boolean): void
}

/** Opens a store for one test, or for those of one file. */
export async function openTestStore(): Promise<TestStore> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-store-'))
  const opened = await openStore({ database: 'test', directory })
  let is_away = false
  return {
    store: withOutages(opened, () => is_away),
    setUnavailable(away) {
      is_away = away
    },
    async [Symbol.asyncDispose]() {
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A store whose documents can be out of reach for a while. */
export function withOutages(store: Store, isAway: () => boolean): Store {
  const guarded = <T extends object>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return async (...given: unknown[]) => {
          if (isAway()) throw new Unavailable('the store was taken away by the test')
          return member.apply(target, given)
        }
      },
    })
  return { ...store, collection: async (spec) => guarded(await store.collection(spec)) }
}
