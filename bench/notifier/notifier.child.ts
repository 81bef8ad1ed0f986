import { type PublishEvent, startNotifierSystem } from './notifier-system.ts'
import {
  DIRECTORY_VARIABLE,
  type EventLoad,
  measureUse,
  newReference,
  ONE_MERCHANT_VARIABLE,
  RECEIVERS_VARIABLE,
  runLoad,
  type SendReport,
  type STOP,
} from './sender.ts'

/** The notifier with everything that a callback needs: stored event, stored delivery, receipt, attempt, recorded result. */
const system = await startNotifierSystem(
  JSON.parse(process.env[RECEIVERS_VARIABLE] ?? '[]'),
  process.env[DIRECTORY_VARIABLE],
  process.env[ONE_MERCHANT_VARIABLE] !== undefined,
)

async function send(load: EventLoad): Promise<SendReport> {
  const { events, events_per_second, timed_receiver, wait_for_results = true } = load
  const newEvent = (number: number, receiver: number): PublishEvent => {
    const is_timed = events_per_second !== undefined && receiver === (timed_receiver ?? receiver)
    return system.newEvent(receiver, newReference(number, is_timed))
  }
  // Making events is work of other services, so without a rate it is not measured.
  const made = Array.from({ length: events_per_second === undefined ? events : 0 }, (_, number) =>
    newEvent(number, number),
  )
  return measureUse(async () => {
    await runLoad(load, (number, receiver) => (made[number] ?? newEvent(number, receiver))())
    if (wait_for_results) await system.allRecorded()
  })
}

process.on('message', (message: EventLoad | typeof STOP) => {
  const reply = 'stop' in message ? system.stop() : send(message)
  void reply.then((report) => process.send?.(report ?? {}))
})
process.send?.('ready')
