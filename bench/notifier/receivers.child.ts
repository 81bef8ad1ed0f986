import { createServer, type Socket } from 'node:net'
import { percentileOf } from './percentile.ts'

/** How many receivers answer at once, and how many accept a callback and never answer. */
interface ReceiverCounts {
  readonly healthy: number
  readonly silent: number
}

const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
/** Events that are timed have the time at which they were published in their `c_id`. */
const PUBLISHED_AT = /"c_id":"(\d+)-/

let latencies_ms: number[] = []
const delivery_ids = new Set<string>()

/** Answers each complete request of a connection. It reads only what is needed, because receivers are not measured. */
function answer(socket: Socket): void {
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => {
    received += data.toString('latin1')
    for (;;) {
      const body_at = received.indexOf('\r\n\r\n') + 4
      if (body_at === 3) return
      const length = Number(/content-length: (\d+)/i.exec(received.slice(0, body_at))?.[1] ?? 0)
      if (received.length < body_at + length) return
      record(received.slice(0, body_at), received.slice(body_at, body_at + length))
      received = received.slice(body_at + length)
      socket.write(ANSWER)
    }
  })
}

function record(head: string, body: string): void {
  const published_at = PUBLISHED_AT.exec(body)?.[1]
  if (published_at !== undefined)
    latencies_ms.push(Number(process.hrtime.bigint() - BigInt(published_at)) / 1e6)
  delivery_ids.add(/x-webhook-id: (\S+)/i.exec(head)?.[1] ?? '')
}

async function listen(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer(onConnection)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port')
  return `http://127.0.0.1:${address.port}/callbacks`
}

/** The callbacks since the last report. */
function report(): object {
  const sorted = latencies_ms.toSorted((left, right) => left - right)
  latencies_ms = []
  const distinct = delivery_ids.size
  delivery_ids.clear()
  return {
    distinct,
    p50_ms: percentileOf(sorted, 0.5),
    p99_ms: percentileOf(sorted, 0.99),
  }
}

async function start({ healthy, silent }: ReceiverCounts): Promise<object> {
  const ignore = (socket: Socket): void => void socket.on('error', () => {}).resume()
  return {
    healthy: await Promise.all(Array.from({ length: healthy }, () => listen(answer))),
    silent: await Promise.all(Array.from({ length: silent }, () => listen(ignore))),
  }
}

process.on('message', (message: { start?: ReceiverCounts; count?: true }) => {
  if (message.start !== undefined) void start(message.start).then((urls) => process.send?.(urls))
  else process.send?.(message.count ? delivery_ids.size : report())
})
process.send?.('ready')
