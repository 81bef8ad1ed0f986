import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { randomHex } from '#lib/crypto/random.ts'
import { clock } from '#lib/time.ts'

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
}

/** What it answers: how many exchanges ended, how many of them were not 200, and how long they took. */
export interface LoadReport {
  readonly exchanges: number
  readonly failures: number
  /** The beginning of the first answer that was not 200. */
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
  let failures = 0
  let first_failure: string | undefined
  const answered = (answer: string, duration_ms: number): Buffer | undefined => {
    durations_ms.push(duration_ms)
    if (!answer.startsWith('HTTP/1.1 200')) {
      failures += 1
      first_failure ??= answer.slice(0, 500)
    }
    return clock.monotonic_ms() < end_ms ? next() : undefined
  }
  await Promise.all(Array.from({ length: order.in_flight }, () => exchange(order.port, next(), answered)))
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
  if (!order.body.includes('{id}')) {
    const bytes = signed(order, order.body)
    return () => bytes
  }
  return () => {
    number += 1
    return signed(order, order.body.replace('{id}', `${run}-${number}`))
  }
}

function signed({ path, application_id, secret }: LoadOrder, body: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `content-length: ${Buffer.byteLength(body)}`,
    'content-type: application/json',
    `x-data-application-id: ${application_id}`,
    `x-data-hash: ${createHash('sha512').update(body).update(secret).digest('hex')}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function exchange(
  port: number,
  first: Buffer,
  answered: (answer: string, duration_ms: number) => Buffer | undefined,
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
    socket.on('connect', () => send(first))
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isComplete(received)) return
      const again = answered(received, clock.monotonic_ms() - sent_ms)
      received = ''
      if (again) send(again)
      else socket.end()
    })
  })
}

function isComplete(answer: string): boolean {
  const head_end = answer.indexOf('\r\n\r\n')
  if (head_end < 0) return false
  const length = /content-length: (\d+)/i.exec(answer)?.[1]
  return answer.length >= head_end + 4 + Number(length ?? 0)
}
