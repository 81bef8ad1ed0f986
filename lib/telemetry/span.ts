import { currentRequest, withTrace } from '#lib/base/context.ts'
import { formatTrace, parseTrace, type Trace } from '#lib/base/trace.ts'
import type { LogField } from './log.ts'
import { counter } from './metrics.ts'

/** What a span records besides its times. Its fields are the fields of log lines: never a body, a secret or bank data. */
export type SpanFields = { readonly [Name in LogField]?: string | number | undefined }

/** The part of a span in its exchange, as OpenTelemetry names it. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

/** A unit of work that is recorded in a trace. */
export interface Span {
  readonly trace: Trace
  rename(name: string): void
  add(fields: SpanFields): void
  /** Records the error that ended the work: its name or its public code, never its message. */
  fail(error: unknown): void
  end(): void
}

/** Where a span begins: below `parent`, or as the first of a new trace. `link` is another trace that caused it. */
export interface SpanStart {
  readonly name: string
  readonly kind: SpanKind
  readonly fields: SpanFields
  readonly parent: Trace | undefined
  readonly link: Trace | undefined
}

/** A span of work that has ended, of a trace whose first span is `first`. */
export interface PastSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly fields: SpanFields
  readonly first: Trace
  /** Whether it is the first span itself; otherwise it is below it. */
  readonly is_first: boolean
  readonly began_at: Date
  readonly ended_at: Date
}

/** Records spans. */
export interface Tracer {
  /** Draws whether a new trace is recorded. */
  samples(): boolean
  startSpan(start: SpanStart): Span
  /** Records a failure afterwards. */
  recordPast(span: PastSpan): void
}

/** A unit of work, as `inSpan` takes it. */
export interface SpanDescription {
  readonly name: string
  readonly kind: SpanKind
  readonly fields?: SpanFields
  /**
   * The `traceparent` of the document or message that the work is about. The span belongs to that trace, in any
   * process and however late.
   */
  readonly stored?: string | undefined
  /** Begins a trace, within the sampling ratio, when the work belongs to none. */
  readonly begins_trace?: boolean
}

/** Counts spans by what became of them. */
export const spans_total = counter(
  'multihub_spans_total',
  'Spans of traces, by result: exported, failed or dropped.',
  ['result'],
)

let tracer: Tracer | undefined

/** The tracer of this process, if it records spans. */
export function currentTracer(): Tracer | undefined {
  return tracer
}

/** Records the spans of this process with a tracer, until the returned function is called. */
export function useTracer(replacement: Tracer): () => void {
  tracer = replacement
  return () => {
    tracer = undefined
  }
}

/**
 * Does `work` as a span of its trace. Without a tracer, or when the trace is not recorded, it does only the work, which
 * then gets no span.
 */
export function inSpan<T>(
  description: SpanDescription,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return work(undefined)
  const span = startSpan(tracer, description)
  return span === undefined ? work(undefined) : workIn(span, work)
}

/** The document with the present place in its trace, so that later work on it continues the trace, in any process. */
export function withTraceparent<D extends object>(document: D): D & { readonly traceparent?: string } {
  const traceparent = currentTraceparent()
  return traceparent === undefined ? document : { ...document, traceparent }
}

/** The `traceparent` for a document or message; `undefined` unless the present work is recorded. */
export function currentTraceparent(): string | undefined {
  const trace = tracer === undefined ? undefined : currentRequest()?.trace
  return trace?.sampled ? formatTrace(trace) : undefined
}

function startSpan(recorder: Tracer, description: SpanDescription): Span | undefined {
  const { name, kind, fields = {}, stored, begins_trace = false } = description
  const present = currentRequest()?.trace
  const origin = parseTrace(stored)
  const parent = origin === undefined || origin.trace_id === present?.trace_id ? present : origin
  const is_recorded = parent === undefined ? begins_trace && recorder.samples() : parent.sampled
  if (!is_recorded) return undefined
  const link = parent !== present && present?.sampled ? present : undefined
  return recorder.startSpan({ name, kind, fields, parent, link })
}

async function workIn<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await withTrace(span.trace, () => work(span))
  } catch (error) {
    span.fail(error)
    throw error
  } finally {
    span.end()
  }
}
