/** Whether slow tests do all that they can: in CI, where MULTIHUB_CI is set. Elsewhere they do a part of it. */
export const IS_WHOLE = process.env['MULTIHUB_CI'] === '1'

/**
 * How many runs a slow property test makes: all of them in CI, and a fifth elsewhere. A failure prints the seed that
 * repeats it.
 */
export function propertyRuns(all: number): number {
  return IS_WHOLE ? all : Math.ceil(all / 5)
}

/** The cases of a slow table: all of them in CI, and every fifth elsewhere. */
export function casesOf<T>(all: readonly T[]): readonly T[] {
  return IS_WHOLE ? all : all.filter((_, index) => index % 5 === 0)
}
