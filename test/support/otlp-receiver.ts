import { createServer } from 'node:http'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { listen } from '#lib/http/network.ts'

/** A span as an OpenTelemetry collector receives it. */
export interface ReceivedSpan {
  readonly service: string
  /** The process that recorded it. */
  readonly instance: string
  readonly name: string
  readonly trace_id: string
  readonly span_id: string
  /** Empty for the first span of a trace. */
  readonly parent_span_id: string
  /** The ids of the traces that caused it. */
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
  readonly is_error: boolean
}

/** A collector of OTLP over HTTP with protobuf. */
export interface OtlpReceiver {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** The path and the headers of each request. */
  readonly requests: readonly Readonly<Record<string, unknown>>[]
  /** Sets the HTTP status of the responses from now on. Spans are taken with 200 only. */
  respondWith(status: number): void
  stop(): Promise<void>
}

/** Starts a collector on a free port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const requests: Record<string, unknown>[] = []
  let status = 200
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    requests.push({ ...request.headers, path: request.url })
    if (status === 200) spans.push(...decodeRequest(Buffer.concat(chunks)))
    response.writeHead(status).end()
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'test' })
  return {
    url: `http://${listening.host_and_port}`,
    spans,
    requests,
    respondWith(next) {
      status = next
    },
    stop: () => listening.close(),
  }
}

/** The fields of a message by their numbers, because the protos of OpenTelemetry are not ours. */
type Fields = ReadonlyMap<number, readonly unknown[]>

function fieldsOf(message: unknown): Fields {
  const fields = new Map<number, unknown[]>()
  if (!(message instanceof Uint8Array)) return fields
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    fields.set(number, [...(fields.get(number) ?? []), readValue(reader, type, number)])
  }
  return fields
}

function readValue(reader: BinaryReader, type: WireType, number: number): unknown {
  if (type === WireType.LengthDelimited) return reader.bytes()
  return type === WireType.Varint ? reader.int64() : reader.skip(type, number)
}

/** Decodes an ExportTraceServiceRequest. */
function decodeRequest(body: Uint8Array): readonly ReceivedSpan[] {
  return messagesIn(fieldsOf(body), 1).flatMap((resource_spans) => {
    const [resource] = messagesIn(resource_spans, 1)
    const { 'service.name': service = '', 'service.instance.id': instance = '' } = attributesIn(resource, 1)
    return messagesIn(resource_spans, 2).flatMap((scope_spans) =>
      messagesIn(scope_spans, 2).map((span) => ({
        service,
        instance,
        name: bytesIn(span, 5).toString(),
        trace_id: bytesIn(span, 1).toString('hex'),
        span_id: bytesIn(span, 2).toString('hex'),
        parent_span_id: bytesIn(span, 4).toString('hex'),
        links: messagesIn(span, 13).map((link) => bytesIn(link, 1).toString('hex')),
        attributes: attributesIn(span, 9),
        is_error: messagesIn(span, 15).some((status) => String(status.get(3)?.[0]) === '2'),
      })),
    )
  })
}

function messagesIn(message: Fields | undefined, number: number): readonly Fields[] {
  return (message?.get(number) ?? []).map(fieldsOf)
}

function bytesIn(message: Fields, number: number): Buffer {
  const [bytes] = message.get(number) ?? []
  return bytes instanceof Uint8Array ? Buffer.from(bytes) : Buffer.alloc(0)
}

function attributesIn(message: Fields | undefined, number: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    messagesIn(message, number).map((pair) => {
      const [value = new Map()] = messagesIn(pair, 2)
      const text = value.has(1)
        ? bytesIn(value, 1).toString()
        : String(value.get(2)?.[0] ?? value.get(3)?.[0])
      return [bytesIn(pair, 1).toString(), text]
    }),
  )
}
