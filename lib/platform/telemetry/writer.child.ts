import { log } from './log.ts'

/** Writes the given number of lines, and ends in the given way. */
const [count, ending] = process.argv.slice(2)
for (let number = 1; number <= Number(count); number += 1) log.info({ seq: number }, 'a line')
if (ending === 'exit') process.exit(3)
if (ending === 'throw') throw new Error('the end')
if (ending === 'reject') await Promise.reject(new Error('the end'))
if (ending === 'error') {
  log.error({}, 'the last line')
  // Blocks permanently, so that a line can only get out without another turn of the event loop.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
