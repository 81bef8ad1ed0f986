import { busSuite } from '../../../test/suites/bus.suite.ts'
import { createSimulatedBus } from './bus.ts'
import { createPartitions } from './partitions.ts'
import { createChoices } from './random.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { createMachine, createProcess } from './simulated-process.ts'
import { createTrace } from './trace.ts'

/** The simulated bus without faults passes the suite of the real ones. */
busSuite('simulated', async () => {
  const bus = createSimulatedBus(
    createMachine(startedScheduler()),
    createChoices(1, 'bus'),
    createTrace(),
    createPartitions(),
  )
  const connect = (name: string) => bus.connect(createProcess(name, { offset_ms: 0, rate: 1 }))
  return { near: connect('near'), far: connect('far') }
})

/** A scheduler that runs its events whenever there are any. */
function startedScheduler(): Scheduler {
  const scheduler = createScheduler()
  let is_running = false
  return {
    ...scheduler,
    at(time_ms, action, is_quiet) {
      const event = scheduler.at(time_ms, action, is_quiet)
      if (!is_running) {
        is_running = true
        void scheduler
          .run(() => false)
          .finally(() => {
            is_running = false
          })
      }
      return event
    },
  }
}
