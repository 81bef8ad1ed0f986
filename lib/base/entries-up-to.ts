/**
 * The options of an `LRUCache` of at most this many entries. `max` of the library reserves the memory of all entries at
 * once: ten caches of 10,000 entries took most of the time in which a gateway is built. These options take it as it fills.
 */
export function entriesUpTo(most: number): {
  readonly maxSize: number
  readonly sizeCalculation: () => number
} {
  return { maxSize: most, sizeCalculation: () => 1 }
}
