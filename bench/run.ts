import { parseArgs } from 'node:util'
import { formatTable } from './markdown-table.ts'
import { type BenchResult, reachesGoal } from './result.ts'

type Benchmark = () => Promise<BenchResult[]>

/** The code of a benchmark is loaded when it runs, so that its dependencies do not slow down the others. */
const BENCHMARKS: Readonly<Record<string, () => Promise<{ readonly run: Benchmark }>>> = {
  rpc: () => import('./rpc.ts'),
  log: () => import('./log.ts'),
  store: () => import('./store-embedded.ts'),
  ledger: () => import('./ledger.ts'),
  gateway: () => import('./gateway.ts'),
  payment: () => import('./payment.ts'),
  'payment-latency': () => import('./payment-latency.ts'),
  'payment-sustained': () => import('./payment-sustained.ts'),
  'payment-stored': () => import('./payment-stored.ts'),
  console: () => import('./console.ts'),
  search: () => import('./search.ts'),
  archive: () => import('./archive.ts'),
  audit: () => import('./audit.ts'),
  attachments: () => import('./attachments.ts'),
  sweeper: () => import('./sweeper.ts'),
  sweeps: () => import('./sweeps.ts'),
  notifier: () => import('./notifier.ts'),
  'notifier-crash': () => import('./notifier-crash.ts'),
  'notifier-outage': () => import('./notifier-outage.ts'),
  'notifier-backlog': () => import('./notifier-backlog.ts'),
  'notifier-fairness': () => import('./notifier-fairness.ts'),
  tickets: () => import('./tickets.ts'),
  refunds: () => import('./refunds.ts'),
  start: () => import('./start.ts'),
  cli: () => import('./cli.ts'),
  roles: () => import('./roles.ts'),
  recovery: () => import('./recovery.ts'),
}

/** `npm run bench`: runs the named benchmarks, or all of them, one after the other, and prints their results. */
async function main(): Promise<void> {
  const { names, json } = readArguments()
  const results: BenchResult[] = []
  for (const [name, load] of Object.entries(BENCHMARKS)) {
    if (names.length > 0 && !names.includes(name)) continue
    process.stderr.write(`${name} ...\n`)
    const { run } = await load()
    results.push(...(await run()))
  }
  const printed = results.map((result) => ({ ...result, reaches_goal: reachesGoal(result) }))
  process.stdout.write(json ? `${JSON.stringify(printed, null, 2)}\n` : formatTable(results))
}

function readArguments(): { names: readonly string[]; json: boolean } {
  const { positionals: names, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const unknown = names.find((name) => !Object.hasOwn(BENCHMARKS, name))
  if (unknown !== undefined) {
    throw new Error(`unknown benchmark ${unknown}; use one of ${Object.keys(BENCHMARKS).join(', ')}`)
  }
  return { names, json: values.json }
}

try {
  await main()
  process.exit(0)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
