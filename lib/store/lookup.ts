import type { Collection, Fields, GetOptions, Range, Stored } from './store.ts'

/** Makes the function that takes the key of a collection from a document, or from a request that names one. */
export function keyOf<const Field extends string>({ key }: { readonly key: readonly Field[] }) {
  return <Named extends Readonly<Record<Field, Fields[string]>>>(named: Named): Pick<Named, Field> => {
    const fields = key.map((field) => [field, named[field]] as const)
    // Exactly the fields of the key, each with its own value.
    return Object.fromEntries(fields) as Pick<Named, Field>
  }
}

/** The first document with these values in the first fields of an index, or `undefined`. */
export async function findOne<D extends object>(
  collection: Pick<Collection<D>, 'find'>,
  index: string,
  equals: NonNullable<Range['equals']>,
  options?: GetOptions,
): Promise<Stored<D> | undefined> {
  const [document] = await collection.find(index, { equals }, { ...options, limit: 1 })
  return document
}
