import { openStore } from '../open.ts'

/**
 * Exits while the writer thread of LMDB waits for this thread, which must run a group of writes. The argument is the
 * directory.
 */
const BLOCKED_MS = 200

const store = await openStore({ database: 'items', directory: process.argv[2] })
const items = await store.collection({ name: 'items', partition: ['id'], key: ['id'] })
void items.insert({ id: 1 })
// The insert starts the writer thread before this callback runs. While this thread is blocked, the writer thread reaches
// the group and waits.
setImmediate(() => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
  process.exit(3)
})
