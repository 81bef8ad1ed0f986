import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import type { Delivery } from '../../services/notifier/domain/delivery.ts'
import { openSealedStore } from '../../services/notifier/store/notifier-store.ts'
import { startNotifierSystem } from './notifier-system.ts'
import { DIRECTORY_VARIABLE, newReference, RECEIVERS_VARIABLE, runLoad } from './sender.ts'

const INSERTS_IN_PROGRESS = 512
const STORE_TIMEOUT_MS = 60_000

/** Stores due deliveries, as if their notifier had been down: copies of one delivery per receiver that was made. */
async function fill(count: number): Promise<void> {
  const directory = process.env[DIRECTORY_VARIABLE] ?? ''
  const urls: string[] = JSON.parse(process.env[RECEIVERS_VARIABLE] ?? '[]')
  const system = await startNotifierSystem(urls, directory)
  for (const [receiver] of urls.entries()) await system.newEvent(receiver, newReference(receiver, false))()
  await system.allRecorded()
  const { merchant_ids } = system
  await system.stop()

  const store = await openStore({ database: 'notifier', directory, timeout_ms: STORE_TIMEOUT_MS })
  const { deliveries, destinations } = await openSealedStore(store)
  const made: Delivery[] = []
  for (const merchant_id of merchant_ids)
    made.push(...(await deliveries.find('by_environment', { equals: [merchant_id] }, { limit: 1 })))
  const due_at = now()
  await runLoad({ events: count, in_flight: INSERTS_IN_PROGRESS }, async (number) => {
    const original = made[number % made.length]
    if (original === undefined) throw new Error('no delivery was made')
    const { destination_key, ...rest } = original
    const waiting = { status: 'pending', try_kind: 'first', due_at, attempts: [], tries: 0 } as const
    await deliveries.insert({ ...rest, ...waiting, destination_key, delivery_id: uuidv7() })
  })
  for (const { destination_key } of made) {
    const destination = await destinations.get({ destination_key })
    if (destination === undefined) throw new Error(`${destination_key} is not stored`)
    const { lease: _lease, expires_at: _expires_at, version, ...rest } = destination
    await destinations.replace({ ...rest, wake_at: due_at }, version)
  }
  await store.close()
}

process.on('message', ({ count }: { readonly count: number }) => {
  void fill(count).then(() => process.send?.({ count }))
})
process.send?.('ready')
