import { sleep } from '#lib/base/time.ts'
import { eventually } from '../test/support/eventually.ts'
import { merchantClient } from '../test/support/merchant.ts'
import { startReceiver } from '../test/support/receiver.ts'
import { startPrivateNats } from '../test/support/servers.ts'
import { startProcessPerRole } from '../test/support/system.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

/** Each deposit is declined at once, so it has two events. */
const DEPOSITS = 400
const DECLINED_VALUE = 1_901
const DEPOSITS_AT_ONCE = 8
const OUTAGE_MS = 20_000

const GOAL = { at_most: 3_000 }

/**
 * `notifier.outage`: NATS is unavailable for 20 s, during which 400 deposits are created: the time from its return until
 * the last of their 800 callbacks arrived. The baseline is the time for the same deposits and callbacks without an
 * outage. It needs nats-server.
 */
export async function run(): Promise<BenchResult[]> {
  const nats = await startPrivateNats()
  if ('skip' in nats) {
    process.stderr.write(`skipped: ${nats.skip}\n`)
    return []
  }
  const system = await startProcessPerRole(nats.url, undefined)
  const receiver = await startReceiver()
  try {
    const merchant = merchantClient(system.demo)
    const createDeposits = async (): Promise<void> => {
      let left = DEPOSITS
      const worker = async (): Promise<void> => {
        for (; left > 0; left -= 1) await merchant.deposit(DECLINED_VALUE, { webhook_url: receiver.url })
      }
      await Promise.all(Array.from({ length: DEPOSITS_AT_ONCE }, worker))
    }
    const allArrived = (rounds: number): Promise<unknown> =>
      eventually(
        async () => receiver.callbacks.length,
        (count = 0) => count >= rounds * 2 * DEPOSITS,
      )

    printProgress('notifier.outage: none')
    await createDeposits()
    await allArrived(1)
    const created_ms = performance.now()
    await createDeposits()
    await allArrived(2)
    const baseline = performance.now() - created_ms

    printProgress('notifier.outage')
    const outage_ms = performance.now()
    await nats.kill()
    await createDeposits()
    await sleep(Math.max(0, outage_ms + OUTAGE_MS - performance.now()))
    await nats.restart()
    const returned_ms = performance.now()
    await allArrived(3)
    const ours = performance.now() - returned_ms
    const name = 'notifier.outage, 800 callbacks arrived after'
    return [{ name, ours, baseline, ratio: baseline / ours, unit: 'ms', goal: GOAL }]
  } finally {
    await receiver.stop()
    await system.end()
    await nats.stop()
  }
}
