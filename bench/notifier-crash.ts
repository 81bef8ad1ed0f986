import { createServer } from 'node:http'
import { sleep } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import { merchantClient } from '../test/support/merchant.ts'
import { startPrivateNats } from '../test/support/servers.ts'
import { startProcessPerRole, type TestSystem } from '../test/support/system.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

/** Each deposit is declined at once, so it has two events. */
const DEPOSITS = 2_500
const DECLINED_VALUE = 1_901
const CONCURRENCY = 32
/** A receiver takes this long, so that deliveries are in flight when the notifier ends. */
const ANSWER_MS = 100
const PAUSE_MS = 20
/** What has not arrived when nothing has arrived for this long is lost: longer than every wait between tries. */
const SILENCE_MS = 60_000

const RESUMED_GOAL = { at_most: 6_000 }
const LOST_GOAL = { at_most: 0 }

interface Interruption {
  /** From the moment when the notifier is ready again until the last delivery that was in flight arrived again. */
  readonly resumed_ms: number
  readonly lost: number
}

/**
 * `notifier.crash`: the only notifier is killed in the middle of 5,000 events and started again. The baseline is the same
 * with a notifier that is stopped with SIGTERM, which hands over what it has begun. It needs nats-server.
 */
export async function run(): Promise<BenchResult[]> {
  const killed = await measure('kill -9', (system) => system.kill('notifier'))
  const stopped = await measure('SIGTERM', (system) => system.stop('notifier'))
  if (killed === undefined || stopped === undefined) return []
  const row = (name: string, ours: number, baseline: number, more: Pick<BenchResult, 'unit' | 'goal'>) => ({
    name: `notifier.crash, ${name}`,
    ours,
    baseline,
    ratio: ours === baseline ? 1 : baseline / ours,
    ...more,
  })
  return [
    row('in-flight deliveries resumed after', killed.resumed_ms, stopped.resumed_ms, {
      unit: 'ms',
      goal: RESUMED_GOAL,
    }),
    row('lost', killed.lost, stopped.lost, { unit: 'events', goal: LOST_GOAL }),
  ]
}

async function measure(
  name: string,
  end: (system: TestSystem) => Promise<unknown>,
): Promise<Interruption | undefined> {
  printProgress(`notifier.crash: ${name}`)
  const nats = await startPrivateNats()
  if ('skip' in nats) {
    process.stderr.write(`skipped: ${nats.skip}\n`)
    return undefined
  }
  const receiver = await startSlowReceiver()
  const system = await startProcessPerRole(nats.url, undefined)
  try {
    const merchant = merchantClient(system.demo)
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < DEPOSITS) {
        next += 1
        await merchant.deposit(DECLINED_VALUE, { webhook_url: receiver.url })
      }
    }
    const created = Promise.all(Array.from({ length: CONCURRENCY }, worker))
    while (receiver.arrived.size < DEPOSITS) await sleep(PAUSE_MS)
    const in_flight = new Set(receiver.unanswered)
    await end(system)
    const ended_ms = performance.now()
    await system.start('notifier')
    const ready_ms = performance.now()
    const isBack = (id: string): boolean => (receiver.arrived.get(id) ?? 0) > ended_ms
    // A stop records what its receivers answer while it waits, so those deliveries do not come again.
    await created
    while (receiver.arrived.size < 2 * DEPOSITS && !receiver.isSilent()) await sleep(PAUSE_MS)
    const resumed_at_ms = [...in_flight].filter(isBack).map((id) => receiver.arrived.get(id) ?? 0)
    return {
      resumed_ms: Math.round(Math.max(0, ...resumed_at_ms) - ready_ms),
      lost: 2 * DEPOSITS - receiver.arrived.size,
    }
  } finally {
    await system.end()
    await receiver.close()
    await nats.stop()
  }
}

interface SlowReceiver {
  readonly url: string
  /** When each delivery arrived last. */
  readonly arrived: ReadonlyMap<string, number>
  readonly unanswered: ReadonlySet<string>
  /** Whether nothing has arrived for a minute. */
  isSilent(): boolean
  close(): Promise<void>
}

async function startSlowReceiver(): Promise<SlowReceiver> {
  const arrived = new Map<string, number>()
  const unanswered = new Set<string>()
  let last_ms = performance.now()
  const server = createServer((request, response) => {
    const id = String(request.headers['x-webhook-id'])
    last_ms = performance.now()
    arrived.set(id, last_ms)
    unanswered.add(id)
    request.resume().on('end', () => {
      setTimeout(() => {
        unanswered.delete(id)
        response.writeHead(204).end()
      }, ANSWER_MS)
    })
  })
  const { host_and_port, close } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${host_and_port}/callbacks`,
    arrived,
    unanswered,
    isSilent: () => performance.now() - last_ms > SILENCE_MS,
    close: () => close(0),
  }
}
