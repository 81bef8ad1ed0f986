/** How often values fell into each bucket, for one combination of labels. */
export interface Distribution {
  record(value: number): void
  /** The lines of the text format: the cumulated buckets, the sum and the count. */
  lines(): readonly DistributionLine[]
}

/** One line of a histogram. `le` is the upper bound of a bucket. */
export interface DistributionLine {
  readonly suffix: 'bucket' | 'sum' | 'count'
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Creates an empty distribution. It replaces the counting of prom-client, which takes 0.6 to 1.1 us per value: it checks
 * the labels and makes a text of them each time.
 */
export function createDistribution(
  labels: Readonly<Record<string, string>>,
  upper_bounds: readonly number[],
): Distribution {
  const counts = new Float64Array(upper_bounds.length + 1)
  let sum = 0
  return {
    record(value) {
      let bucket = 0
      while (bucket < upper_bounds.length && value > (upper_bounds[bucket] ?? 0)) bucket += 1
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += value
    },
    lines() {
      let count = 0
      const buckets = [...counts].map((in_bucket, bucket): DistributionLine => {
        count += in_bucket
        const le = String(upper_bounds[bucket] ?? '+Inf')
        return { suffix: 'bucket', labels: { le, ...labels }, value: count }
      })
      return [...buckets, { suffix: 'sum', labels, value: sum }, { suffix: 'count', labels, value: count }]
    },
  }
}
