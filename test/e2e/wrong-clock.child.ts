import { useClock } from '#lib/base/time.ts'
import { parseRoleNames, startRoles } from '../../app/roles.ts'
import { runProcess } from '../../app/run.ts'

/** Runs roles as main.ts does, with a clock that is one hour ahead until the signal SIGUSR2 corrects it. */
let ahead_ms = 3_600_000
useClock({
  now_ms: () => Date.now() + ahead_ms,
  monotonic_ms: () => performance.now(),
  after(delay_ms, action) {
    const handle = setTimeout(action, Math.max(0, delay_ms))
    return { cancel: () => clearTimeout(handle) }
  },
})
process.on('SIGUSR2', () => {
  ahead_ms = 0
})

runProcess(async (lifecycle) => {
  const names = parseRoleNames(process.argv.slice(2))
  const { urls } = await startRoles(names, process.env, lifecycle, { schema: 'verify' })
  return urls
})
