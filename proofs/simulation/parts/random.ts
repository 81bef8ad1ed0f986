/** Choices that follow from a seed: the same seed and name give the same choices. */
export interface Choices {
  /** A uniform number in [0, 1). */
  fraction(): number
  /** Whether an event of this probability happens. */
  chance(probability: number): boolean
  /** A uniform number between two bounds. */
  between(low: number, high: number): number
  /** A uniform integer between two bounds, both included. */
  integer(low: number, high: number): number
  /** An element of a list that is not empty. */
  pick<T>(items: readonly T[]): T
  /** An element, chosen by weight. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T
  /** Fills an array with bytes. */
  fill(target: Uint8Array): void
}

/**
 * Makes the choices of one part of a simulation. Each part has its own sequence, so that a change of one part does not
 * change the choices of all others.
 */
export function createChoices(seed: number, name: string): Choices {
  let [a, b, c, counter] = [hash(name), seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 1]
  /** One step of the generator SFC32. */
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let round = 0; round < 12; round += 1) next()
  const fraction = (): number => next() / 2 ** 32
  const between = (low: number, high: number): number => low + fraction() * (high - low)
  const at = <T>(items: readonly T[], index: number): T => {
    if (index < 0 || index >= items.length) throw new RangeError('nothing to choose from')
    return items[index] as T
  }
  return {
    fraction,
    chance: (probability) => fraction() < probability,
    between,
    integer: (low, high) => low + Math.floor(fraction() * (high - low + 1)),
    pick: (items) => at(items, Math.floor(fraction() * items.length)),
    weighted(items) {
      let left = fraction() * items.reduce((sum, [weight]) => sum + weight, 0)
      const index = items.findIndex(([weight]) => {
        left -= weight
        return left < 0
      })
      return at(items, index < 0 ? items.length - 1 : index)[1]
    },
    fill(target) {
      for (let index = 0; index < target.length; index += 4) {
        const word = next()
        for (let byte = 0; byte < 4 && index + byte < target.length; byte += 1) {
          target[index + byte] = (word >>> (8 * byte)) & 0xff
        }
      }
    },
  }
}

/** FNV-1a of a name. */
function hash(name: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < name.length; index += 1) {
    value = Math.imul(value ^ name.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}
