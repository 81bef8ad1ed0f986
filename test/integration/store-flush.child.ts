import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { openStore } from '#lib/store/open.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const [directory = '', trace = '', fail_flushes = ''] = process.argv.slice(2)
const WRITES = 10

/** Writes documents and blobs one after another, and adds a line to the trace for each acknowledgement. */
const store = await openStore({ database: 'test', directory, timeout_ms: HANG_LIMIT_MS })
const documents = await store.collection<{ id: string; count: number }>({
  name: 'documents',
  partition: ['id'],
  key: ['id'],
})
const acknowledge = (what: string): void => appendFileSync(trace, `acknowledged ${what}\n`)
acknowledge('start')
const blobs = await store.blobs('blobs')
acknowledge('start of blobs')

for (let number = 0; number < WRITES; number += 1) {
  const id = `document ${number}`
  const { version } = await documents.insert({ id, count: 1 })
  acknowledge('insert')
  const replaced = await documents.replace({ id, count: 2 }, version)
  acknowledge('replace')
  await documents.delete({ id }, replaced.version)
  acknowledge('delete')
}

await blobs.put('blob', bytes())
acknowledge('blob')
await blobs.delete('blob')
acknowledge('blob-deletion')

writeFileSync(fail_flushes, '')
await documents.insert({ id: 'unflushed', count: 1 }).then(
  () => acknowledge('unflushed'),
  (error: Error) => appendFileSync(trace, `refused ${error.name}\n`),
)
const seen = await documents.get({ id: 'unflushed' })
appendFileSync(trace, `refused: ${seen === undefined ? 'not visible' : 'visible'}\n`)
await blobs.put('unflushed', bytes()).then(
  () => acknowledge('unflushed-blob'),
  (error: Error) => appendFileSync(trace, `refused-blob ${error.name}\n`),
)
rmSync(fail_flushes)
process.exit(0)

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(100_000, 'b')
}
