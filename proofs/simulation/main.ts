import { parseArgs } from 'node:util'
import { FAILED_SEEDS } from './failed-seeds.ts'

// The simulation judges the lines that need a person. The level is read when the first log is made.
process.env['MULTIHUB_LOG_LEVEL'] = 'error'
await import('./log-lines.ts')
const { runSeeds, seedsFrom } = await import('./run-seeds.ts')
const { faultKind } = await import('./faults/plan.ts')

/**
 * `npm run simulate -- --seeds N [--from S] [--minutes M] [--failed] [--small] [--twice] [--stop] [--trace] [--profile] [--with KIND]
 * [--files] [--restored] [--backoffice] [--full-balance] [--paused]`: simulates the whole system under faults. Without `--from` the
 * first seed is new; `--failed` simulates the seeds that failed before, the last N of them. `--minutes` ends the run after that time.
 * `--small` makes each simulation short. `--twice` runs each seed twice and compares the traces. `--stop` ends the run at the first
 * violation. `--trace` prints every event. `--profile` prints whose code used the processor. `--with KIND` leaves out the seeds without
 * that kind of faults; several may be given. `--files` leaves out the seeds without files, `--restored` the seeds without a restore,
 * `--backoffice` the seeds without a back office, `--full-balance` the seeds without one, `--paused` the seeds in which no days pass.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string' },
    minutes: { type: 'string' },
    twice: { type: 'boolean', default: false },
    stop: { type: 'boolean', default: false },
    small: { type: 'boolean', default: false },
    failed: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    files: { type: 'boolean', default: false },
    restored: { type: 'boolean', default: false },
    backoffice: { type: 'boolean', default: false },
    'full-balance': { type: 'boolean', default: false },
    paused: { type: 'boolean', default: false },
    with: { type: 'string', multiple: true, default: [] },
  },
})
// The only use of the real clock: it chooses new seeds.
const first = values.from === undefined ? Date.now() % 1_000_000_000 : Number(values.from)
if (!values.failed) console.log(`simulating ${values.seeds} seeds from ${first}`)
const failed = await runSeeds({
  seeds: values.failed
    ? FAILED_SEEDS.slice(-Number(values.seeds)).map(({ seed }) => seed)
    : seedsFrom(first, Number(values.seeds), {
        kinds: values.with.map(faultKind),
        has_files: values.files,
        is_restored: values.restored,
        has_backoffice: values.backoffice,
        has_full_balance: values['full-balance'],
        is_paused: values.paused,
      }),
  end_ms:
    values.minutes === undefined
      ? Number.POSITIVE_INFINITY
      : performance.now() + Number(values.minutes) * 60_000,
  is_twice: values.twice,
  stops_at_failure: values.stop,
  is_small: values.small,
  is_profiled: values.profile,
  onLine: values.trace ? (line) => process.stdout.write(`${line}\n`) : undefined,
})
process.exitCode = failed === 0 ? 0 : 1
