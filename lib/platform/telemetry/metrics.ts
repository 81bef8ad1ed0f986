import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The values of a metric's labels: words of a small fixed set, never an id, an address or a caller's text. */
export type Labels<Name extends string> = Readonly<Record<Name, string>>

/** A number that only grows. */
export interface CounterMetric<Name extends string> {
  increment(labels: Labels<Name>, by?: number): void
}

/** A number that goes up and down. */
export interface GaugeMetric<Name extends string> {
  set(labels: Labels<Name>, value: number): void
}

/** A spread of values, such as durations in seconds. */
export interface HistogramMetric<Name extends string> {
  observe(labels: Labels<Name>, value: number): void
}

/** So many combinations of label values a metric keeps; what comes after them is counted under `other`. */
const SERIES_MAX = 500

/** Upper bounds for durations in seconds: from what one database write takes to the longest request. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const registry = new Registry()

/**
 * A counter of this process. Asking again by the same name gives the same counter, so that several roles in one
 * process may use the same library code. Names are `multihub_<what>_total`.
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

/** A gauge of this process; see `counter`. */
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

/** A histogram of this process; see `counter`. Its buckets suit durations in seconds unless others are given. */
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

/** Memory without end is what unbounded labels cost, so the number of series is capped whatever a caller passes. */
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

/** Begins to measure the process itself (CPU, memory, event loop, garbage collection). A repeated call does nothing. */
export function measureProcess(): void {
  if (collecting) return
  collecting = true
  collectDefaultMetrics({ register: registry })
}

/** All metrics of this process in the text format of Prometheus; serve it as `METRICS_TYPE`. */
export function metricsText(): Promise<string> {
  return registry.metrics()
}

/** The content type of `metricsText`. */
export const METRICS_TYPE = registry.contentType
