import { createServer } from 'node:http'
import { clock } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { ReceivedCallback } from '../../simulation/world/receiver.ts'

/** The receivers of all merchants: one server, on which each has a path of its own. */
export interface RecordingReceiver {
  readonly origins: readonly string[]
  /** Every callback that arrived, also those that were not acknowledged. */
  readonly callbacks: readonly ReceivedCallback[]
  /** Makes all following callbacks succeed. */
  recover(): void
  stop(): Promise<void>
}

/** The share of callbacks that a receiver refuses. */
const FAILURES = 0.05

/** Starts the receivers. They refuse some callbacks until `recover`. */
export async function startRecordingReceiver(
  count: number,
  choices: Choices,
  onCallback: (callback: ReceivedCallback) => void,
): Promise<RecordingReceiver> {
  const callbacks: ReceivedCallback[] = []
  let failures = FAILURES
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const answered = choices.chance(failures) ? choices.pick([500, 404, 302]) : 200
    const callback = {
      origin: `${base}/${request.url?.split('/')[1]}`,
      at_ms: clock.monotonic_ms(),
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
      answered,
    }
    callbacks.push(callback)
    response.writeHead(answered).end()
    onCallback(callback)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  const base = `http://${listening.host_and_port}`
  return {
    origins: Array.from({ length: count }, (_, number) => `${base}/r${number}`),
    callbacks,
    recover() {
      failures = 0
    },
    stop: () => listening.close(0),
  }
}
