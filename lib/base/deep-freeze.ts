type Primitive = string | number | bigint | boolean | symbol | null | undefined

/** A type whose parts are all read-only. */
export type Frozen<T> = T extends Primitive | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : { readonly [K in keyof T]: Frozen<T[K]> }

/**
 * Freezes a value and everything in it, because a value that many requests share must not be changed by one of them.
 * Only arrays and plain objects are frozen: bytes cannot be, and instances of a class (`Secret`, `URL`) may need their
 * fields. Runs once per value that is cached, not per request.
 */
export function deepFreeze<T>(value: T): Frozen<T> {
  const is_freezable = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === Object.prototype
  if (is_freezable) for (const inner of Object.values(Object.freeze(value) as object)) deepFreeze(inner)
  return value as Frozen<T>
}
