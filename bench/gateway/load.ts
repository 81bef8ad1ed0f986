import { connect, type Socket } from 'node:net'
import { clock } from '#lib/time.ts'

/** What the load client is told on its standard input: where to send which bytes, on how many sockets, for how long. */
export interface LoadOrder {
  readonly port: number
  readonly head: string
  readonly body: string
  readonly sockets: number
  readonly duration_ms: number
}

/** What it answers: how many exchanges ended in that time, and how many of them were not 200. */
export interface LoadReport {
  readonly exchanges: number
  readonly failures: number
  readonly elapsed_ms: number
}

/**
 * Sends one request again and again on keep-alive sockets, one in flight on each, and counts the answers. It reads of
 * an answer only the status and the length: a full HTTP client costs as much as the servers that it should measure.
 */
export async function load({ port, head, body, sockets, duration_ms }: LoadOrder): Promise<LoadReport> {
  const bytes = Buffer.from(head + body)
  const start_ms = clock.monotonic_ms()
  const end_ms = start_ms + duration_ms
  let exchanges = 0
  let failures = 0
  const answered = (ok: boolean): boolean => {
    exchanges += 1
    if (!ok) failures += 1
    return clock.monotonic_ms() < end_ms
  }
  await Promise.all(Array.from({ length: sockets }, () => exchange(port, bytes, answered)))
  return { exchanges, failures, elapsed_ms: clock.monotonic_ms() - start_ms }
}

function exchange(port: number, bytes: Buffer, answered: (ok: boolean) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let received = ''
    socket.setEncoding('latin1')
    socket.on('connect', () => socket.write(bytes))
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isComplete(received)) return
      const again = answered(received.startsWith('HTTP/1.1 200'))
      received = ''
      if (again) socket.write(bytes)
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
