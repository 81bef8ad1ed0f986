import fc from 'fast-check'

/** The choices of one run. fast-check draws them, so that it can replay a run and shrink a failing run. */
export interface Choices {
  /** A number from 0 up to, not including, `below`. Shrinks to 0. */
  integer(below: number): number
  /** True with this probability. Shrinks to false. */
  chance(probability: number): boolean
  /** One of the items. Shrinks to the first. */
  pick<T>(items: readonly T[]): T
  /** One of the items, each as often as its weight says. Shrinks to the first. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T
  /** Between 1 and 64 bytes. */
  bytes(): Buffer
  /** This number of lower-case hexadecimal digits. */
  hex(digits: number): string
  /** The text of a JSON value or of a string with any characters. */
  json(): string
}

const JSON_TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }).map((text) => JSON.stringify(text)),
  fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify(value)),
)
const BYTES = fc.uint8Array({ minLength: 1, maxLength: 64 })

/** Functions without arguments: fast-check compares the arguments of a draw with all earlier draws. */
const drawBytes = (): fc.Arbitrary<Uint8Array> => BYTES
const drawJson = (): fc.Arbitrary<string> => JSON_TEXT
const drawBelow = new Map<number, () => fc.Arbitrary<number>>()

/** Draws all numbers equally often, so that every attack is tried. By default fast-check prefers the ends of a range. */
function integerBelow(below: number): () => fc.Arbitrary<number> {
  const existing = drawBelow.get(below)
  if (existing !== undefined) return existing
  const arbitrary = fc.noBias(fc.nat(below - 1))
  const draw = (): fc.Arbitrary<number> => arbitrary
  drawBelow.set(below, draw)
  return draw
}

/** Makes the choices of one run from the generator that fast-check gives to it. */
export function createChoices(generate: fc.GeneratorValue): Choices {
  const integer = (below: number): number => (below <= 1 ? 0 : generate(integerBelow(below)))
  const pick = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('pick needs at least one item')
    return items[integer(items.length)] as T
  }
  return {
    integer,
    pick,
    chance: (probability) => integer(1_000) >= 1_000 * (1 - probability),
    weighted(items) {
      let left = integer(items.reduce((sum, [weight]) => sum + weight, 0))
      const chosen = items.find(([weight]) => {
        left -= weight
        return left < 0
      })
      return (chosen ?? pick(items))[1]
    },
    bytes: () => Buffer.from(generate(drawBytes)),
    hex: (digits) =>
      integer(2 ** 31)
        .toString(16)
        .padStart(8, '0')
        .repeat(digits / 8 + 1)
        .slice(0, digits),
    json: () => generate(drawJson),
  }
}
