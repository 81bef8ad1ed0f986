import { createHash, createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'

/** The requests to send: where to, signed how, how many at once and for how long. */
export interface Load {
  readonly port: number
  readonly path: string
  readonly application_id: string
  /** How many application ids the requests use in turn, counted from `application_id` upwards. By default 1. */
  readonly applications?: number
  readonly secret: string
  /** `{id}` in the body is replaced by an id that is unique to the request. */
  readonly body: string
  /** `{id}` is replaced by a number below this one instead. The numbers follow each other far apart. */
  readonly ids_below?: number
  readonly concurrency: number
  readonly duration_ms: number
  /** By default `v1`: the hash alone. */
  readonly signature?: Signature
  /** The largest rate. Without it, each connection sends the next request as soon as the response arrives. */
  readonly requests_per_second?: number
}

/** How requests are signed. `v1 with nonce` adds timestamp and nonce; the server must refuse `wrong`. */
export type Signature = 'v1' | 'v1 with nonce' | 'v2' | 'wrong'

/** The result of a load. `failures` counts the requests with an unexpected response. */
export interface LoadReport {
  readonly requests: number
  readonly failures: number
  /** The beginning of the first unexpected response. */
  readonly first_failure?: string
  readonly elapsed_ms: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Prime, so that all numbers are used before one is used again. */
const ID_STEP = 611_953

/**
 * Sends requests on keep-alive sockets, one at a time on each, and measures the response times. It reads only the status
 * and the length of a response, because a full HTTP client needs as much processor time as the server that is measured.
 */
export async function sendLoad(load: Load): Promise<LoadReport> {
  const nextRequest = createRequests(load)
  const start_ms = clock.monotonic_ms()
  const end_ms = start_ms + load.duration_ms
  const durations_ms: number[] = []
  const expected = load.signature === 'wrong' ? 'HTTP/1.1 4' : 'HTTP/1.1 200'
  // The rate is divided evenly: each connection sends one request per `interval_ms`.
  const interval_ms =
    load.requests_per_second === undefined ? 0 : (1_000 * load.concurrency) / load.requests_per_second
  let failures = 0
  let first_failure: string | undefined
  const onResponse = (response: string, duration_ms: number): Buffer | undefined => {
    durations_ms.push(duration_ms)
    if (!response.startsWith(expected)) {
      failures += 1
      first_failure ??= response.slice(0, 500)
    }
    return clock.monotonic_ms() < end_ms ? nextRequest() : undefined
  }
  await Promise.all(
    Array.from({ length: load.concurrency }, (_, at) => {
      const pace = { interval_ms, delay_ms: (interval_ms * at) / load.concurrency }
      return sendOnConnection(load.port, nextRequest(), onResponse, pace)
    }),
  )
  const elapsed_ms = clock.monotonic_ms() - start_ms
  durations_ms.sort((left, right) => left - right)
  const percentile = (share: number): number => durations_ms[Math.floor(durations_ms.length * share)] ?? 0
  return {
    requests: durations_ms.length,
    failures,
    elapsed_ms,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    ...(first_failure === undefined ? {} : { first_failure }),
  }
}

/** Returns a function that makes the next request. Identical requests are made only once, before the first is sent. */
function createRequests(load: Load): () => Buffer {
  const run = randomHex(8)
  let number = 0
  if (!load.body.includes('{id}') && !hasNonce(load)) {
    const requests = applicationsOf(load).map((application_id) =>
      signedRequest({ ...load, application_id }, load.body, ''),
    )
    return () => {
      const [first = Buffer.alloc(0)] = requests
      const request = requests[number % requests.length] ?? first
      number += 1
      return request
    }
  }
  return () => {
    number += 1
    const id = `${run}-${number}`
    const shown = load.ids_below === undefined ? id : `${(number * ID_STEP) % load.ids_below}`
    return signedRequest(load, load.body.replace('{id}', shown), id)
  }
}

function applicationsOf({ application_id, applications = 1 }: Load): readonly string[] {
  return Array.from({ length: applications }, (_, at) => String(Number(application_id) + at))
}

function hasNonce({ signature }: Load): boolean {
  return signature === 'v1 with nonce' || signature === 'v2'
}

function signedRequest(load: Load, body: string, nonce: string): Buffer {
  const timestamp = String(Math.floor(clock.now_ms() / 1_000))
  const head = [
    `POST ${load.path} HTTP/1.1`,
    'host: 127.0.0.1',
    `content-length: ${Buffer.byteLength(body)}`,
    'content-type: application/json',
    `x-data-application-id: ${load.application_id}`,
    ...(hasNonce(load) ? [`x-data-timestamp: ${timestamp}`, `x-data-nonce: ${nonce}`] : []),
    signatureHeader(load, body, timestamp, nonce),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function signatureHeader(load: Load, body: string, timestamp: string, nonce: string): string {
  const { application_id, path, secret, signature } = load
  if (signature === 'wrong') return `x-data-hash: ${'0'.repeat(128)}`
  if (signature !== 'v2')
    return `x-data-hash: ${createHash('sha512').update(body).update(secret).digest('hex')}`
  const digest = createHash('sha256').update(body).digest('hex')
  const text = ['service-multihub-request-v2', application_id, 'POST', path, timestamp, nonce, digest]
  return `x-data-signature: ${createHmac('sha512', secret).update(text.join('\n')).digest('hex')}`
}

/** When a connection sends. The delays differ, so that the connections never all send at the same moment. */
interface Pace {
  /** Before the first request. */
  readonly delay_ms: number
  /** Between the starts of two requests. */
  readonly interval_ms: number
}

/** Sends requests on one connection until `onResponse` returns no further request. */
function sendOnConnection(
  port: number,
  first: Buffer,
  onResponse: (response: string, duration_ms: number) => Buffer | undefined,
  { interval_ms, delay_ms }: Pace,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let received = ''
    let sent_ms = 0
    const send = (request: Buffer): void => {
      sent_ms = clock.monotonic_ms()
      socket.write(request)
    }
    socket.setEncoding('latin1')
    socket.on('connect', () => {
      if (delay_ms === 0) send(first)
      else clock.after(delay_ms, () => send(first))
    })
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isComplete(received)) return
      const next = onResponse(received, clock.monotonic_ms() - sent_ms)
      received = ''
      if (next === undefined) return void socket.end()
      const wait_ms = sent_ms + interval_ms - clock.monotonic_ms()
      if (wait_ms <= 0) send(next)
      else clock.after(wait_ms, () => send(next))
    })
  })
}

function isComplete(response: string): boolean {
  const head_end = response.indexOf('\r\n\r\n')
  if (head_end < 0) return false
  const length = /content-length: (\d+)/i.exec(response)?.[1]
  return response.length >= head_end + 4 + Number(length ?? 0)
}
