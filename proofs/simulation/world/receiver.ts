import { sleep } from '#lib/base/time.ts'
import type { HttpNetwork } from '../parts/http/http-network.ts'
import type { Choices } from '../parts/random.ts'
import type { Machine } from '../parts/simulated-process.ts'

/** The origins of the receivers of a simulation, two for each merchant. */
export const RECEIVER_ORIGINS = [0, 1, 2, 3, 4, 5].map((number) => `https://receiver-${number}.example.com`)

/** A callback as a merchant's receiver got it. */
export interface ReceivedCallback {
  readonly origin: string
  readonly at_ms: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The HTTP status that the receiver sent; 0 when it sent none. */
  readonly answered: number
}

/** How often receivers misbehave, as probabilities. */
export interface ReceiverFaults {
  failure: number
  silence: number
  slow: number
  slow_max_ms: number
}

/** The receivers of all merchants. */
export interface Receivers {
  readonly faults: ReceiverFaults
  readonly callbacks: readonly ReceivedCallback[]
}

/** Makes a receiver at each origin. */
export function createReceivers(
  machine: Machine,
  network: HttpNetwork,
  choices: Choices,
  origins: readonly string[],
  onCallback: (body: string) => void,
): Receivers {
  const callbacks: ReceivedCallback[] = []
  const faults: ReceiverFaults = { failure: 0, silence: 0, slow: 0, slow_max_ms: 0 }
  for (const origin of origins) {
    network.addServer(origin, async ({ headers, body }) => {
      if (choices.chance(faults.slow)) await sleep(choices.between(1, faults.slow_max_ms))
      const answered = choices.chance(faults.silence)
        ? 0
        : choices.chance(faults.failure)
          ? choices.pick([500, 404, 302])
          : 200
      callbacks.push({
        origin,
        at_ms: machine.now_ms(),
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
        ),
        body: Buffer.from(body).toString(),
        answered,
      })
      onCallback(Buffer.from(body).toString())
      return answered === 0 ? undefined : { status: answered, headers: {}, body: Buffer.alloc(0) }
    })
  }
  return { faults, callbacks }
}
