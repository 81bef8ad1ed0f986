import { once } from 'node:events'
import { keepProcessAlive, machineClock, useClock } from '#lib/base/time.ts'
import { newOrderOfLanes, openEffectsSystem } from './effects-system.ts'

/**
 * A process of the tests of runs, which a test kills or stops. The first argument is JSON: the location of the store, how far its clock
 * is ahead, the time of its leases, and `begins`: whether it begins its effects and hangs in them, or waits for a message before that.
 * Its messages to the test are `leased`, the id of each effect that begins, and what `runLater` sends.
 */
const { store_location, clock_ahead_ms, lease_ms, begins } = JSON.parse(process.argv[2] ?? '{}')

const release = keepProcessAlive()
useClock({ ...machineClock, now_ms: () => machineClock.now_ms() + clock_ahead_ms })
const system = await openEffectsSystem(
  store_location,
  () => {},
  [],
  lease_ms,
  async (id) => {
    process.send?.(id)
    if (begins) await new Promise(() => {})
  },
)
const stored = await system.runner.insert(newOrderOfLanes('first'))
process.send?.('leased')
if (begins) await system.runner.runEffects(stored)
else await runLater()

/** Runs what was leased after the message of the test, and an order after that. */
async function runLater(): Promise<void> {
  const run_id = system.runs.run_id
  await once(process, 'message')
  await system.runner.runEffects(stored)
  process.send?.(system.runs.run_id === run_id ? 'ended in the same run' : 'ended in a fresh run')
  await system.runner.runEffects(await system.runner.insert(newOrderOfLanes('second')))
  process.send?.('ended')
  await system.close()
  process.disconnect()
  release()
}
