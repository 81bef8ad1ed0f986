import { openStore } from '#lib/platform/store/open.ts'

/** Exits while LMDB waits for this thread to run a group of writes. The parameter is the directory. */
const BLOCKED_MS = 200
const store = await openStore({ database: 'items', directory: process.argv[2] })
const items = await store.collection({ name: 'items', partition: ['id'], key: ['id'] })
void items.insert({ id: 1 })
// LMDB starts its thread in this turn of the event loop, before this. While this thread is blocked, the other one reaches
// the group.
setImmediate(() => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
  process.exit(3)
})
