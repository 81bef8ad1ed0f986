import { pbkdf2 } from 'node:crypto'
import { log } from './log.ts'

/** Writes the given number of lines, and ends in the given way. */
const [count, ending] = process.argv.slice(2)
// Keeps the only thread busy that could write (UV_THREADPOOL_SIZE), for 5 ms: beyond the exit, and 50 times shorter than an exit
// waits for that thread, which has less than a whole processor on a busy machine.
if (ending === 'exit while busy') pbkdf2('a', 'b', 10_000, 64, 'sha512', () => {})
for (let number = 1; number <= Number(count); number += 1) log.info({ seq: number }, 'a line')
if (ending === 'exit' || ending === 'exit while busy') process.exit(3)
if (ending === 'throw') throw new Error('the end')
if (ending === 'reject') await Promise.reject(new Error('the end'))
if (ending === 'error') {
  log.error({}, 'the last line')
  // Blocks permanently, so that a line can only get out without another turn of the event loop.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
