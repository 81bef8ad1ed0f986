import { clock } from '#lib/base/time.ts'
import type { Bus, Subscription } from '#lib/bus/bus.ts'
import { log } from '#lib/telemetry/log.ts'

/** Tells other notifiers over the bus that something is due at their destinations. The bus may lose it. */
export interface Wakes {
  /** Wakes a notifier for a destination. Repeated wakes within a moment become one. */
  send(address: string, destination_key: string): void
  /** Receives the wakes for this notifier from now on. */
  open(): Promise<void>
  close(): Promise<void>
}

/** How long wakes for the same destination are gathered. */
const GATHER_MS = 5
const SUBJECT = 'notifier.wake'

/** Creates the sender and the receiver of wakes of a notifier. */
export function createWakes(
  bus: Bus,
  self_address: string,
  onWake: (destination_key: string) => Promise<void>,
): Wakes {
  const gathered = new Set<string>()
  let subscription: Subscription | undefined
  return {
    send(address, destination_key) {
      const name = `${address} ${destination_key}`
      if (gathered.has(name)) return
      gathered.add(name)
      clock.after(GATHER_MS, () => {
        gathered.delete(name)
        bus
          .publish(`${SUBJECT}.${address}`, Buffer.from(destination_key))
          // The owner looks at the store all the same, a moment later.
          .catch((error: unknown) => log.debug({ error }, 'a wake could not be sent'))
      })
    },
    async open() {
      subscription = await bus.subscribe(`${SUBJECT}.${self_address}`, ({ data }) =>
        onWake(Buffer.from(data).toString()),
      )
    },
    async close() {
      await subscription?.close()
    },
  }
}
