import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** How often values fell into each bucket, for one combination of labels. */
type Distribution = ReturnType<typeof createDistribution>

/** One line of a histogram. `le` is the upper bound of a bucket. */
interface DistributionLine {
  readonly suffix: 'bucket' | 'sum' | 'count'
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Creates an empty distribution. It replaces the counting of prom-client, which takes 0.6 to 1.1 us per value: it checks
 * the labels and makes a text of them each time.
 */
function createDistribution(labels: Readonly<Record<string, string>>, upper_bounds: readonly number[]) {
  const counts = new Float64Array(upper_bounds.length + 1)
  let sum = 0
  return {
    record(value: number) {
      let bucket = 0
      while (bucket < upper_bounds.length && value > (upper_bounds[bucket] ?? 0)) bucket += 1
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += value
    },
    /** The lines of the text format: the cumulated buckets, the sum and the count. */
    lines(): readonly DistributionLine[] {
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

/** The values of a metric's labels: words of a small fixed set, never an id, an address or text of a caller. */
export type Labels<Name extends string> = Readonly<Record<Name, string>>

/** A number of things that exist now, such as requests in progress. Its owners change `value`, which costs an addition. */
export interface Level {
  value: number
}

interface MetricDescription {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

/** The largest number of label combinations per metric. Further combinations are counted under `other`. */
const SERIES_MAX = 500

/** Upper bounds of duration buckets in seconds: from one database write to the longest request. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const registry = new Registry()

/** The distributions of each histogram, by its name, then by their labels. */
const distributions_of = new Map<string, Map<string, Distribution>>()
const levels = new Set<Level>()

/**
 * The counter of this process with that name, created at the first call. Several roles in one process share it, because
 * they use the same library code. Names have the form `multihub_<what>_total`.
 */
export function counter<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
) {
  const existing = registry.getSingleMetric(name)
  const metric =
    existing instanceof Counter ? existing : new Counter({ name, help, labelNames, registers: [registry] })
  const bounded = boundedLabels(labelNames)
  return { increment: (labels: Labels<Name>, by: number = 1) => metric.inc(bounded(labels), by) }
}

/** The gauge of this process with that name, created at the first call; see `counter`. */
export function gauge<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
) {
  const existing = registry.getSingleMetric(name)
  const metric =
    existing instanceof Gauge ? existing : new Gauge({ name, help, labelNames, registers: [registry] })
  const bounded = boundedLabels(labelNames)
  return {
    set: (labels: Labels<Name>, value: number) => metric.set(bounded(labels), value),
    /** Shows no value with these labels until the next `set`. */
    remove: (labels: Labels<Name>) => metric.remove(bounded(labels)),
  }
}

/**
 * Reads and sets gauges, such as gauges of the whole store. When it fails, `forget` removes their values: an old one would
 * pass for a present one, and keep an alert that the other processes no longer have.
 */
export async function measureOrForget(measure: () => Promise<void>, forget: () => void): Promise<void> {
  try {
    await measure()
  } catch (error) {
    forget()
    throw error
  }
}

/** The levels of this process under a name that no other metric has. Define them once, in a constant of a module. */
export function level<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
) {
  const series = new Map<string, { readonly labels: Labels<Name>; readonly current: Level }>()
  const bounded = boundedLabels(labelNames)
  const metric: Gauge<Name> = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      for (const { labels, current } of series.values()) metric.set(labels, current.value)
    },
  })
  return {
    /** The level with these labels: one for all parts of the process, so add what begins and subtract what ends. */
    of(wanted: Labels<Name>): Level {
      const labels = bounded(wanted)
      const key = keyOfLabels(labelNames, labels)
      const found = series.get(key) ?? { labels, current: { value: 0 } }
      series.set(key, found)
      levels.add(found.current)
      return found.current
    },
  }
}

/** The histogram of this process with that name; see `counter`. Its default buckets are durations in seconds. */
export function histogram<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
  buckets: readonly number[] = SECONDS,
) {
  const distributions = distributions_of.get(name) ?? new Map<string, Distribution>()
  if (!distributions_of.has(name)) {
    distributions_of.set(name, distributions)
    const read = async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...distributions.values()].flatMap((distribution) =>
        distribution.lines().map(({ suffix, ...line }) => ({ ...line, metricName: `${name}_${suffix}` })),
      ),
    })
    const metric = new Histogram({ name, help, labelNames, registers: [registry] })
    // prom-client only names and writes the histogram: it counts too slowly, see `createDistribution`.
    Object.assign(metric, { get: read, getForPromString: read })
  }
  const bounded = boundedLabels(labelNames)
  return {
    observe(labels: Labels<Name>, value: number) {
      const known = distributions.get(keyOfLabels(labelNames, labels))
      if (known !== undefined) return known.record(value)
      const bounded_labels = bounded(labels)
      const key = keyOfLabels(labelNames, bounded_labels)
      const distribution = distributions.get(key) ?? createDistribution(bounded_labels, buckets)
      distributions.set(key, distribution)
      distribution.record(value)
    },
  }
}

/** Caps the number of label combinations, because unbounded labels would use unbounded memory. */
function boundedLabels<Name extends string>(names: readonly Name[]): (labels: Labels<Name>) => Labels<Name> {
  const seen = new Set<string>()
  const other = Object.fromEntries(names.map((name) => [name, 'other'])) as Labels<Name>
  return (labels) => {
    if (names.length === 0) return labels
    const key = keyOfLabels(names, labels)
    if (seen.has(key)) return labels
    if (seen.size >= SERIES_MAX) return other
    seen.add(key)
    return labels
  }
}

function keyOfLabels<Name extends string>(names: readonly Name[], labels: Labels<Name>): string {
  let key = ''
  for (const name of names) key += `${labels[name]}\n`
  return key
}

/** The metrics that `measureProcess` adds. */
const NAME_OF_NODE = /^(nodejs|process)_/

/** Every metric of the loaded code, by name, without the metrics of Node.js. */
export function describeMetrics(): readonly MetricDescription[] {
  return registry
    .getMetricsAsArray()
    .filter(({ name }) => !NAME_OF_NODE.test(name))
    .map((metric) => ({
      name: metric.name,
      help: metric.help,
      labels: 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

let last_use = performance.eventLoopUtilization()
const event_loop_seconds: Counter<'state'> = new Counter({
  name: 'multihub_event_loop_seconds_total',
  help: 'Time of the event loop of this process: active while it works, idle while it waits. One without idle time is full.',
  labelNames: ['state'],
  registers: [registry],
  collect() {
    const { active, idle } = last_use
    last_use = performance.eventLoopUtilization()
    event_loop_seconds.inc({ state: 'active' }, Math.max(0, last_use.active - active) / 1_000)
    event_loop_seconds.inc({ state: 'idle' }, Math.max(0, last_use.idle - idle) / 1_000)
  },
})

let collecting = false

/** Starts to measure the process itself: processor, memory, event loop, garbage collection. Repeated calls do nothing. */
export function measureProcess(): void {
  if (collecting) return
  collecting = true
  collectDefaultMetrics({ register: registry })
}

/** Gives each metric the value that it has in a new process, for tests only: test files of one process share the metrics. */
export function resetMetrics(): void {
  registry.resetMetrics()
  for (const distributions of distributions_of.values()) distributions.clear()
  for (const one of levels) one.value = 0
}

/** All metrics of this process in the text format of Prometheus. Serve it as `METRICS_TYPE`. */
export function metricsText(): Promise<string> {
  return registry.metrics()
}

/** The content type of `metricsText`. */
export const METRICS_TYPE = registry.contentType
