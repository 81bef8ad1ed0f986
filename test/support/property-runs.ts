/**
 * How many runs a slow property test makes: all of them in CI, where MULTIHUB_CI is set, and a fifth elsewhere.
 * A failure prints the seed that repeats it.
 */
export function propertyRuns(all: number): number {
  return process.env['MULTIHUB_CI'] === '1' ? all : Math.ceil(all / 5)
}
