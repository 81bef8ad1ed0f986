/** A place in a W3C trace: the trace's id, the id of the present span, and whether the trace is recorded. */
export interface Trace {
  readonly trace_id: string
  readonly span_id: string
  readonly sampled: boolean
}

/** Later versions may append fields after another dash; version ff is forbidden. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const LENGTH_MAX = 256

/** Parses a `traceparent` header of W3C Trace Context; `undefined` when it is malformed. */
export function parseTrace(traceparent: string | undefined): Trace | undefined {
  if (traceparent === undefined || traceparent.length > LENGTH_MAX) return undefined
  const [, version, trace_id, span_id, flags, rest] = TRACEPARENT.exec(traceparent) ?? []
  if (trace_id === undefined || span_id === undefined || flags === undefined) return undefined
  if (version === '00' && rest !== undefined) return undefined
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id)) return undefined
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Formats a trace as a `traceparent` header. */
export function formatTrace({ trace_id, span_id, sampled }: Trace): string {
  return `00-${trace_id}-${span_id}-${sampled ? '01' : '00'}`
}
