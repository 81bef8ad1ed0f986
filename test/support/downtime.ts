import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { useClock } from '#lib/base/time.ts'

/** The file in the home of a process that says for how long its machine was down. */
export const DOWNTIME_FILE = 'downtime_ms'

/** The clock of the machine, ahead by the downtime that the file says. A process loads this file before its own code. */
const ahead_ms = readDowntime()
if (ahead_ms > 0)
  useClock({
    now_ms: () => Date.now() + ahead_ms,
    monotonic_ms: () => performance.now(),
    after(delay_ms, action) {
      const handle = setTimeout(action, Math.max(0, delay_ms)).unref()
      return { cancel: () => clearTimeout(handle) }
    },
  })

function readDowntime(): number {
  try {
    return Number(readFileSync(join(process.env['MULTIHUB_HOME'] ?? '', DOWNTIME_FILE), 'utf8'))
  } catch {
    return 0
  }
}
