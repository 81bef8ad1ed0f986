type Plain = string | number | bigint | boolean | symbol | null | undefined

/** A value of which no part can be assigned to. */
export type Frozen<T> = T extends Plain | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : { readonly [K in keyof T]: Frozen<T[K]> }

/**
 * Freezes a value with all that is in it: one entry is shared by every request, and one that wrote to it would change
 * the others. Costs a walk a read, not a request.
 */
export function deepFreeze<T>(value: T): Frozen<T> {
  // The bytes of fields that this version does not know cannot be frozen; nobody is given them.
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const inner of Object.values(Object.freeze(value))) deepFreeze(inner)
  }
  return value as Frozen<T>
}
