import { openResend } from './resend.parts.ts'

/** A process that resends a callback once and kills itself at a certain point of it. */
const { directory, operation_id, point } = JSON.parse(process.argv[2] ?? '{}')

const parts = await openResend(directory, (reached) => {
  if (reached === point) process.kill(process.pid, 'SIGKILL')
})
// Stored and not delivered: the receiver is to hear of it from whoever comes after.
await parts.notifier.runner.stop()
await parts.resend(operation_id)
