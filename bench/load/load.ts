import { createHash, createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { clock } from '#lib/platform/time.ts'

/** What the load client is told: where to send which signed request, how many at once, for how long. */
export interface LoadOrder {
  readonly port: number
  readonly path: string
  readonly application_id: string
  readonly secret: string
  /** `{id}` in it stands for an id that no other request has. */
  readonly body: string
  readonly in_flight: number
  readonly duration_ms: number
  /** How its requests are signed; with the hash of v1 alone unless it says otherwise. Wrongly: to be refused. */
  readonly signature?: Signature
  /** Sends no more than this; as many as are answered when it is not given. */
  readonly per_second?: number
}

/** The ways to sign a request. */
export type Signature = 'v1' | 'v1 with pair' | 'v2' | 'wrong'

/** What it answers: how many exchanges ended, how many of them as they should not have, and how long they took. */
export interface LoadReport {
  readonly exchanges: number
  readonly failures: number
  /** The beginning of the first answer that should have been another. */
  readonly first_failure?: string
  readonly elapsed_ms: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/**
 * Sends requests on keep-alive sockets, one in flight on each, and times the answers. It reads of an answer only the
 * status and the length: a full HTTP client costs as much as the servers that it should measure.
 */
export async function load(order: LoadOrder): Promise<LoadReport> {
  const next = requestsOf(order)
  const start_ms = clock.monotonic_ms()
  const end_ms = start_ms + order.duration_ms
  const durations_ms: number[] = []
  const expected = order.signature === 'wrong' ? 'HTTP/1.1 4' : 'HTTP/1.1 200'
  // A connection's share of the rate is one request each so many milliseconds.
  const pause_ms = order.per_second === undefined ? 0 : (1_000 * order.in_flight) / order.per_second
  let failures = 0
  let first_failure: string | undefined
  const answered = (answer: string, duration_ms: number): Buffer | undefined => {
    durations_ms.push(duration_ms)
    if (!answer.startsWith(expected)) {
      failures += 1
      first_failure ??= answer.slice(0, 500)
    }
    return clock.monotonic_ms() < end_ms ? next() : undefined
  }
  await Promise.all(
    Array.from({ length: order.in_flight }, (_, at) =>
      exchange(order.port, next(), answered, { pause_ms, begin_ms: (pause_ms * at) / order.in_flight }),
    ),
  )
  const elapsed_ms = clock.monotonic_ms() - start_ms
  durations_ms.sort((left, right) => left - right)
  const at = (share: number): number => durations_ms[Math.floor(durations_ms.length * share)] ?? 0
  const report = { exchanges: durations_ms.length, failures, elapsed_ms, p50_ms: at(0.5), p99_ms: at(0.99) }
  return first_failure === undefined ? report : { ...report, first_failure }
}

/** Requests that are all alike are made once. */
function requestsOf(order: LoadOrder): () => Buffer {
  const run = randomHex(8)
  let number = 0
  if (!order.body.includes('{id}') && !hasPair(order)) {
    const bytes = signed(order, order.body, '')
    return () => bytes
  }
  return () => {
    number += 1
    const id = `${run}-${number}`
    return signed(order, order.body.replace('{id}', id), id)
  }
}

function hasPair({ signature }: LoadOrder): boolean {
  return signature === 'v1 with pair' || signature === 'v2'
}

function signed(order: LoadOrder, body: string, nonce: string): Buffer {
  const timestamp = String(Math.floor(clock.now_ms() / 1_000))
  const head = [
    `POST ${order.path} HTTP/1.1`,
    'host: 127.0.0.1',
    `content-length: ${Buffer.byteLength(body)}`,
    'content-type: application/json',
    `x-data-application-id: ${order.application_id}`,
    ...(hasPair(order) ? [`x-data-timestamp: ${timestamp}`, `x-data-nonce: ${nonce}`] : []),
    signatureLine(order, body, timestamp, nonce),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function signatureLine(order: LoadOrder, body: string, timestamp: string, nonce: string): string {
  const { application_id, path, secret, signature } = order
  if (signature === 'wrong') return `x-data-hash: ${'0'.repeat(128)}`
  if (signature !== 'v2')
    return `x-data-hash: ${createHash('sha512').update(body).update(secret).digest('hex')}`
  const digest = createHash('sha256').update(body).digest('hex')
  const text = ['service-multihub-request-v2', application_id, 'POST', path, timestamp, nonce, digest]
  return `x-data-signature: ${createHmac('sha512', secret).update(text.join('\n')).digest('hex')}`
}

/** The connections of a paced load begin one after the other, so that they do not all send at once for ever. */
interface Pace {
  readonly begin_ms: number
  /** From one request to the next. */
  readonly pause_ms: number
}

function exchange(
  port: number,
  first: Buffer,
  answered: (answer: string, duration_ms: number) => Buffer | undefined,
  { pause_ms, begin_ms }: Pace,
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
      if (begin_ms === 0) send(first)
      else clock.after(begin_ms, () => send(first))
    })
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isComplete(received)) return
      const again = answered(received, clock.monotonic_ms() - sent_ms)
      received = ''
      if (again === undefined) return void socket.end()
      const wait_ms = sent_ms + pause_ms - clock.monotonic_ms()
      if (wait_ms <= 0) send(again)
      else clock.after(wait_ms, () => send(again))
    })
  })
}

function isComplete(answer: string): boolean {
  const head_end = answer.indexOf('\r\n\r\n')
  if (head_end < 0) return false
  const length = /content-length: (\d+)/i.exec(answer)?.[1]
  return answer.length >= head_end + 4 + Number(length ?? 0)
}
