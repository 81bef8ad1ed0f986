import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The values of a metric's labels: words of a small fixed set, never an id, an address or text of a caller. */
export type Labels<Name extends string> = Readonly<Record<Name, string>>

/** A number that only grows. */
export interface CounterMetric<Name extends string> {
  increment(labels: Labels<Name>, by?: number): void
}

/** A number that goes up and down. */
export interface GaugeMetric<Name extends string> {
  set(labels: Labels<Name>, value: number): void
}

/** A distribution of values, such as durations in seconds. */
export interface HistogramMetric<Name extends string> {
  observe(labels: Labels<Name>, value: number): void
}

/** The largest number of label combinations per metric. Further combinations are counted under `other`. */
const SERIES_MAX = 500

/** Upper bounds of duration buckets in seconds: from one database write to the longest request. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const registry = new Registry()

/**
 * The counter of this process with that name, created at the first call. Several roles in one process share it, because
 * they use the same library code. Names have the form `multihub_<what>_total`.
 */
export function counter<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
): CounterMetric<Name> {
  const existing = registry.getSingleMetric(name)
  const metric =
    existing instanceof Counter ? existing : new Counter({ name, help, labelNames, registers: [registry] })
  const bounded = boundedLabels(labelNames)
  return { increment: (labels, by = 1) => metric.inc(bounded(labels), by) }
}

/** The gauge of this process with that name, created at the first call; see `counter`. */
export function gauge<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
): GaugeMetric<Name> {
  const existing = registry.getSingleMetric(name)
  const metric =
    existing instanceof Gauge ? existing : new Gauge({ name, help, labelNames, registers: [registry] })
  const bounded = boundedLabels(labelNames)
  return { set: (labels, value) => metric.set(bounded(labels), value) }
}

/** The histogram of this process with that name; see `counter`. Its default buckets are durations in seconds. */
export function histogram<const Name extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Name[] = [],
  buckets: readonly number[] = SECONDS,
): HistogramMetric<Name> {
  const existing = registry.getSingleMetric(name)
  const metric =
    existing instanceof Histogram
      ? existing
      : new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [registry] })
  const bounded = boundedLabels(labelNames)
  return { observe: (labels, value) => metric.observe(bounded(labels), value) }
}

/** Caps the number of label combinations, because unbounded labels would use unbounded memory. */
function boundedLabels<Name extends string>(names: readonly Name[]): (labels: Labels<Name>) => Labels<Name> {
  const seen = new Set<string>()
  const other = Object.fromEntries(names.map((name) => [name, 'other'])) as Labels<Name>
  return (labels) => {
    if (names.length === 0) return labels
    const key = names.map((name) => labels[name]).join('\n')
    if (seen.has(key)) return labels
    if (seen.size >= SERIES_MAX) return other
    seen.add(key)
    return labels
  }
}

let collecting = false

/** Starts to measure the process itself: processor, memory, event loop, garbage collection. Repeated calls do nothing. */
export function measureProcess(): void {
  if (collecting) return
  collecting = true
  collectDefaultMetrics({ register: registry })
}

/** All metrics of this process in the text format of Prometheus. Serve it as `METRICS_TYPE`. */
export function metricsText(): Promise<string> {
  return registry.metrics()
}

/** The content type of `metricsText`. */
export const METRICS_TYPE = registry.contentType
