import type { Blobs, Collection, CollectionSpec, Store } from './store.ts'

/** What a service keeps in its database: its collections and the names of its blobs, in the order of their opening. */
export interface Declarations {
  readonly collections: readonly CollectionSpec[]
  readonly blobs: readonly string[]
}

/** Finds what a service declares by the function that opens its collections. That function must only open them. */
export async function readDeclarations(
  openCollections: (store: Store) => Promise<unknown>,
): Promise<Declarations> {
  const collections: CollectionSpec[] = []
  const blobs: string[] = []
  await openCollections({
    isAlone: () => false,
    async collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>> {
      collections.push(spec)
      return { insert: refuse, get: refuse, find: refuse, count: refuse, replace: refuse, delete: refuse }
    },
    async blobs(name): Promise<Blobs> {
      blobs.push(name)
      return { put: refuse, get: refuse, delete: refuse }
    },
    ping: refuse,
    readClock: refuse,
    close: refuse,
  })
  return { collections, blobs }
}

function refuse(): never {
  throw new TypeError('only the declarations are read')
}
