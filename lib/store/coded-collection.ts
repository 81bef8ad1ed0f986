import type { Collection, Stored } from './store.ts'

/** How a service's documents are stored in another form. Pure, but for encryption; `decode(encode(d))` has the content of `d`. */
export interface DocumentCodec<D extends object, S extends object> {
  encode(document: D): S
  decode(stored: S): D
}

/** The write of the store behind the promise of a write that decodes its result. */
const originals = new WeakMap<Promise<unknown>, Promise<unknown>>()

/** The promise of the store itself, by which it knows a write, for `InsertOptions.after`. */
export function originalWrite(write: Promise<unknown>): Promise<unknown> {
  return originals.get(write) ?? write
}

/**
 * The collection whose documents are stored as `codec` encodes them, such as with what identifies a person sealed. Keys and
 * indexes are those of the stored form.
 */
export function withCodec<D extends object, S extends object>(
  { insert, get, find, replace, count, delete: remove }: Collection<S>,
  { encode, decode }: DocumentCodec<D, S>,
): Collection<D> {
  const decoded = (stored: Stored<S>): Stored<D> => ({ ...decode(stored), version: stored.version })
  return {
    insert(document, options) {
      try {
        const written = insert(encode(document), options)
        const result = written.then(decoded)
        originals.set(result, written)
        return result
      } catch (error) {
        return Promise.reject(error)
      }
    },
    async get(key, options) {
      const stored = await get(key, options)
      return stored && decoded(stored)
    },
    find: async (index, range, options) => (await find(index, range, options)).map(decoded),
    replace: async (document, expected_version) => decoded(await replace(encode(document), expected_version)),
    count,
    delete: remove,
  }
}
