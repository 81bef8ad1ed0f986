import { openResend } from './resend-crash.fixture.ts'

// A process that resends a callback once and kills itself at the given point.
const { directory, operation_id, point } = JSON.parse(process.argv[2] ?? '{}')

// This process only stores the delivery; the process of the test delivers it.
const sendNothing = (): Promise<never> => new Promise(() => {})
const system = await openResend(
  directory,
  (reached) => {
    if (reached === point) process.kill(process.pid, 'SIGKILL')
  },
  sendNothing,
)
await system.resend(operation_id)
