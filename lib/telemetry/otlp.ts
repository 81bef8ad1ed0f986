import { hostname } from 'node:os'
import {
  SpanKind as ApiSpanKind,
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace as traceApi,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type IdGenerator,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { randomFraction, randomHex } from '#lib/base/crypto/random.ts'
import { withTimeout } from '#lib/base/time.ts'
import type { Trace } from '#lib/base/trace.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { maskText } from './faults.ts'
import { LOG_FIELDS, log } from './log.ts'
import { type PastSpan, type Span, type SpanFields, type SpanKind, spans_total, type Tracer } from './span.ts'

interface OtlpOptions {
  /** The base URL of OTLP over HTTP; spans go to `/v1/traces` below it. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** The part of the new traces that is recorded, from 0 to 1. */
  readonly ratio: number
  readonly service_name: string
  readonly version: string
}

interface OtlpTracer extends Tracer {
  /** Sends what waits, for at most 3 s. */
  close(): Promise<void>
}

/** The most spans that wait to be sent: some 8 MiB. Beyond them, spans are dropped and counted. */
const WAITING_MAX = 4_096
const BATCH_MAX = 512
const BATCH_DELAY_MS = 1_000
const EXPORT_TIMEOUT_MS = 5_000
const CLOSE_TIMEOUT_MS = 3_000
const TEXT_MAX = 200

const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS)
/** The fields that have a name in the semantic conventions of OpenTelemetry. */
const STANDARD_NAMES: Readonly<Record<string, string>> = {
  rpc: 'rpc.method',
  http_status: 'http.response.status_code',
}
const KINDS: Readonly<Record<SpanKind, ApiSpanKind>> = {
  internal: ApiSpanKind.INTERNAL,
  server: ApiSpanKind.SERVER,
  client: ApiSpanKind.CLIENT,
  producer: ApiSpanKind.PRODUCER,
  consumer: ApiSpanKind.CONSUMER,
}

/**
 * Creates the tracer of a process on the SDK of OpenTelemetry. It is loaded only when an endpoint is configured, because
 * the SDK takes 150 ms and 25 MB. Nothing waits for the collector: spans that it does not take are dropped and counted.
 */
export function createOtlpTracer(options: OtlpOptions): OtlpTracer {
  const { endpoint, headers, ratio, service_name, version } = options
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  const own_resource = resourceFromAttributes({
    'service.namespace': 'multihub',
    'service.name': service_name,
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
  })
  const ids = createIds()
  const provider = new TracerProvider({
    idGenerator: ids,
    // The standard variables of a deployment, such as OTEL_RESOURCE_ATTRIBUTES, add to it and win.
    resource: own_resource.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [createBoundedProcessor(exporter)],
  })
  const tracer = provider.getTracer('multihub', version)
  return {
    samples: () => randomFraction() < ratio,
    startSpan({ name, kind, fields, parent, link }) {
      const started = tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          attributes: attributesOf(fields),
          links: link === undefined ? [] : [{ context: spanContextOf(link) }],
        },
        contextOf(parent),
      )
      const { traceId: trace_id, spanId: span_id } = started.spanContext()
      return {
        trace: { trace_id, span_id, sampled: true },
        rename: (better) => void started.updateName(better),
        add: (more) => void started.setAttributes(attributesOf(more)),
        fail(error) {
          const is_refusal = error instanceof PublicError && error.code !== 2001 && error.code !== 2002
          if (!is_refusal) started.setStatus({ code: SpanStatusCode.ERROR })
          started.setAttribute('error.type', errorTypeOf(error))
        },
        end: () => started.end(),
      } satisfies Span
    },
    recordPast: (past) => recordPast(tracer, ids, past),
    async close() {
      await withTimeout(
        provider.shutdown().catch((error: unknown) => log.debug({ error }, 'the last spans were not sent')),
        CLOSE_TIMEOUT_MS,
      )
    },
  }
}

/** Random ids, or the ones of a first span whose ids follow from what it is about. */
function createIds(): IdGenerator & { with<T>(trace: Trace, work: () => T): T } {
  let given: Trace | undefined
  return {
    generateTraceId: () => given?.trace_id ?? randomHex(16),
    generateSpanId: () => given?.span_id ?? randomHex(8),
    with(trace, work) {
      given = trace
      try {
        return work()
      } finally {
        given = undefined
      }
    },
  }
}

function recordPast(
  tracer: ReturnType<TracerProvider['getTracer']>,
  ids: ReturnType<typeof createIds>,
  { name, kind, fields, first, is_first, began_at, ended_at }: PastSpan,
): void {
  const options = { kind: KINDS[kind], attributes: attributesOf(fields), startTime: began_at }
  const span = is_first
    ? ids.with(first, () => tracer.startSpan(name, options, ROOT_CONTEXT))
    : tracer.startSpan(name, options, contextOf(first))
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(ended_at)
}

/** Counts the spans that wait, because the SDK drops without a count that we could show. */
function createBoundedProcessor(exporter: OTLPTraceExporter): SpanProcessor {
  let waiting = 0
  let is_failing = false
  const counting: SpanExporter = {
    export(spans, onResult) {
      exporter.export(spans, (result) => {
        waiting -= spans.length
        const has_failed = result.code !== 0
        spans_total.increment({ result: has_failed ? 'failed' : 'exported' }, spans.length)
        if (has_failed && !is_failing)
          log.warn({ error: result.error }, 'spans could not be sent to the collector')
        is_failing = has_failed
        onResult(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: WAITING_MAX,
    maxExportBatchSize: BATCH_MAX,
    scheduledDelayMillis: BATCH_DELAY_MS,
    exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
  })
  return {
    onStart() {},
    onEnd(span) {
      if (waiting >= WAITING_MAX) return spans_total.increment({ result: 'dropped' })
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

function contextOf(parent: Trace | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : traceApi.setSpanContext(ROOT_CONTEXT, spanContextOf(parent))
}

function spanContextOf({ trace_id, span_id }: Trace): SpanContext {
  return { traceId: trace_id, spanId: span_id, traceFlags: TraceFlags.SAMPLED, isRemote: true }
}

/** The fields as attributes. The allow-list of log fields is applied at run time too, as in log lines. */
function attributesOf(fields: SpanFields): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || !ALLOWED.has(name)) continue
    attributes[STANDARD_NAMES[name] ?? `multihub.${name}`] =
      typeof value === 'string' ? maskText(value, TEXT_MAX) : value
  }
  return attributes
}

function errorTypeOf(error: unknown): string {
  if (error instanceof PublicError) return String(error.code)
  return error instanceof Error ? error.name : typeof error
}
