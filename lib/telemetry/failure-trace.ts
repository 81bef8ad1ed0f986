import { currentRequest } from '#lib/base/context.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { createRate } from '#lib/base/limit.ts'
import { formatTrace, type Trace } from '#lib/base/trace.ts'
import { currentTracer, type PastSpan, spans_total } from './span.ts'

/*
 * A payment that fails has its spans whether or not its request was sampled. Its trace has ids that follow from its own id, so that
 * every process finds them without asking another. From the failure on, the payment stores that trace and all work on it is
 * recorded; what was before is recorded afterwards, from the times that are known.
 */

/** The failing payments, and the spans recorded afterwards, of one process in a minute: a failing provider cannot flood the collector. */
const FAILURES_PER_MINUTE = 300
const failures = createRate(FAILURES_PER_MINUTE, 60_000)
const past_spans = createRate(4 * FAILURES_PER_MINUTE, 60_000)

/** The first span of the trace of something that failed, such as a payment by its id. */
export function failureTraceOf(subject_id: string): Trace {
  const hash = sha256Hex(`failure:${subject_id}`)
  return { trace_id: hash.slice(0, 32), span_id: hash.slice(32, 48), sampled: true }
}

/** Whether a stored `traceparent` is the trace of the failure of this thing. */
export function isFailureTrace(traceparent: string | undefined, subject_id: string): boolean {
  return traceparent !== undefined && traceparent === formatTrace(failureTraceOf(subject_id))
}

/**
 * The `traceparent` to store in a document that has failed, so that all later work on it is recorded; `undefined` when nothing is
 * traced, when the present work is recorded anyhow, or when too much fails.
 */
export function failureTraceparent(subject_id: string): string | undefined {
  if (currentTracer() === undefined || currentRequest()?.trace?.sampled) return undefined
  if (failures.use()) return formatTrace(failureTraceOf(subject_id))
  spans_total.increment({ result: 'dropped' })
  return undefined
}

/** Records a span of work that has ended, below the first span of a failure or as that one. Without a tracer it does nothing. */
export function recordPastSpan(span: PastSpan): void {
  const tracer = currentTracer()
  if (tracer === undefined) return
  if (past_spans.use()) tracer.recordPast(span)
  else spans_total.increment({ result: 'dropped' })
}
