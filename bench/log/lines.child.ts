import { sleep } from '#lib/base/time.ts'
import { createLog } from '#lib/telemetry/log.ts'

const LINES = 10_000
const BURSTS = 100

const error = new Error('the database does not answer', {
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:27017'), { code: 'ECONNREFUSED' }),
})
const fields = {
  request_id: '0199f0c4-7c1a-7d00-8000-000000000000',
  method: 'payment.in',
  duration_ms: 1.234,
}

/** What is logged 10,000 times in a second. */
const LINES_OF: Readonly<Record<string, () => void>> = {
  nothing: () => {},
  answered: withLog({}, (log) => log.info({ ...fields, http_status: 200 }, 'request answered')),
  repeated: withLog({}, (log) => log.warn({ ...fields, error }, 'request failed')),
  unlimited: withLog({ is_limited: false }, (log) => log.warn({ ...fields, error }, 'request failed')),
}

function withLog(
  options: { readonly is_limited?: boolean },
  write: (log: ReturnType<typeof createLog>) => void,
): () => void {
  const log = createLog('gateway', { level: 'info', ...options })
  return () => write(log)
}

/** Writes the lines of a second in a hundred bursts, and replies with the processor time that this second took, in milliseconds. */
process.on('message', ({ kind }: { readonly kind: string }) => {
  const write = LINES_OF[kind]
  if (write === undefined) throw new Error(`no lines of the kind ${kind}`)
  void measure(write).then((used_ms) => process.send?.(used_ms))
})

async function measure(write: () => void): Promise<number> {
  const before = process.cpuUsage()
  for (let burst = 0; burst < BURSTS; burst += 1) {
    for (let line = 0; line < LINES / BURSTS; line += 1) write()
    await sleep(1_000 / BURSTS)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

process.send?.('ready')
// The timers of `sleep` do not keep it alive.
setInterval(() => {}, 60_000)
