import { log } from './log.ts'

/** Writes as many lines as it is told to, and ends the way it is told to. */
const [count, ending] = process.argv.slice(2)
for (let number = 1; number <= Number(count); number += 1) log.info({ seq: number }, 'a line')
if (ending === 'exit') process.exit(3)
if (ending === 'throw') throw new Error('the end')
if (ending === 'reject') await Promise.reject(new Error('the end'))
if (ending === 'error') {
  log.error({}, 'the last words')
  // Blocks for good: what comes out has left without another turn.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
