import { createHash } from 'node:crypto'

/** Chance that falls the same way again for the same seed and run, so that any run can be replayed alone. */
export interface Dice {
  /** A number from 0 up to, not including, `below`. */
  integer(below: number): number
  /** True in this share of the throws. */
  chance(share: number): boolean
  pick<T>(items: readonly T[]): T
  /** One of them, as often as its weight says. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T
  /** So many bytes as lower-case hexadecimal text. */
  hex(bytes: number): string
}

/** Makes the dice of one run: sfc32, seeded with a hash, so that neighbouring runs have nothing in common. */
export function createDice(seed: number, run: number): Dice {
  const hash = createHash('sha256').update(`${seed}:${run}`).digest()
  let [a, b, c, counter] = [
    hash.readInt32LE(0),
    hash.readInt32LE(4),
    hash.readInt32LE(8),
    hash.readInt32LE(12),
  ]
  const next = (): number => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
  const integer = (below: number): number => Math.floor(next() * below)
  const pick = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('there is nothing to pick from')
    return items[integer(items.length)] as T
  }
  return {
    integer,
    pick,
    chance: (share) => next() < share,
    weighted(items) {
      let left = next() * items.reduce((sum, [weight]) => sum + weight, 0)
      const found = items.find(([weight]) => {
        left -= weight
        return left < 0
      })
      return (found ?? pick(items))[1]
    },
    hex: (bytes) => Array.from({ length: bytes }, () => integer(256).toString(16).padStart(2, '0')).join(''),
  }
}
