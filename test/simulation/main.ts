import { parseArgs } from 'node:util'

// The simulation judges the lines that need a person. The level is read when the first log is made.
process.env['MULTIHUB_LOG_LEVEL'] = 'error'
await import('./log-lines.ts')
const { runSeeds } = await import('./run-seeds.ts')

/**
 * `npm run simulate -- --seeds N [--from S] [--minutes M] [--twice] [--trace]`: simulates the whole system under faults.
 * Without `--from` the first seed is new. `--minutes` ends the run after that time. `--twice` runs each seed twice and
 * compares the traces. `--trace` prints every event.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string' },
    minutes: { type: 'string' },
    twice: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
})
const failed = await runSeeds({
  first: values.from === undefined ? Date.now() % 1_000_000_000 : Number(values.from),
  count: Number(values.seeds),
  end_ms:
    values.minutes === undefined
      ? Number.POSITIVE_INFINITY
      : performance.now() + Number(values.minutes) * 60_000,
  is_twice: values.twice,
  onLine: values.trace ? (line) => process.stdout.write(`${line}\n`) : undefined,
})
process.exitCode = failed === 0 ? 0 : 1
