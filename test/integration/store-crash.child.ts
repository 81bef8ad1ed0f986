import { openStore } from '#lib/store/open.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { CRASH_COLLECTION, type CrashItem, crashItem } from './store-crash.items.ts'

/**
 * Writes documents until it is killed, and prints the id and the number of writes after each acknowledged write. The
 * arguments are the directory and a unique name of the writer.
 */
const [directory = '', writer = ''] = process.argv.slice(2)
const WORKERS = 32

const store = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
const items = await store.collection<CrashItem>(CRASH_COLLECTION)

async function work(worker: number): Promise<void> {
  for (let round = 0; ; round += 1) {
    const id = `${writer}-${worker}-${round}`
    const { version } = await items.insert(crashItem(id, 1))
    process.stdout.write(`${id} 1\n`)
    if (round % 3 === 0) continue
    await items.replace(crashItem(id, 2), version)
    process.stdout.write(`${id} 2\n`)
    if (round % 3 === 1) continue
    await items.delete({ shop: 'a', id }, version + 1)
    process.stdout.write(`${id} gone\n`)
  }
}

await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
