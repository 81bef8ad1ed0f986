import { startNotifierSystem } from './notifier-system.ts'
import {
  DIRECTORY_VARIABLE,
  type EventLoad,
  newReference,
  RECEIVERS_VARIABLE,
  runLoad,
  type STOP,
} from './sender.ts'

/** The notifier with everything that a callback needs: stored event, stored delivery, receipt, attempt, recorded result. */
const system = await startNotifierSystem(
  JSON.parse(process.env[RECEIVERS_VARIABLE] ?? '[]'),
  process.env[DIRECTORY_VARIABLE],
)

async function send(load: EventLoad): Promise<number> {
  const began_ms = performance.now()
  await runLoad(load, (number, receiver) =>
    system.publish(receiver, newReference(number, receiver === (load.timed_receiver ?? receiver))),
  )
  if (load.wait_for_results !== false) await system.allRecorded()
  return performance.now() - began_ms
}

process.on('message', (message: EventLoad | typeof STOP) => {
  const reply = 'stop' in message ? system.stop() : send(message).then((elapsed_ms) => ({ elapsed_ms }))
  void reply.then((report) => process.send?.(report ?? {}))
})
process.send?.('ready')
