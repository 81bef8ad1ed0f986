import { type SeedResult, simulateSeed } from './simulate.ts'

/** Which seeds to simulate, and how. */
export interface SeedRun {
  readonly first: number
  readonly count: number
  /** When to end, on the clock of `performance.now`, even if seeds are left. */
  readonly end_ms: number
  /** Whether to run each seed twice and compare the traces. */
  readonly is_twice: boolean
  readonly onLine: ((line: string) => void) | undefined
}

const PROBLEMS_SHOWN = 20

/** Simulates seeds one after the other and reports those that fail. Returns their number. */
export async function runSeeds({ first, count, end_ms, is_twice, onLine }: SeedRun): Promise<number> {
  console.log(`simulating ${count} seeds from ${first}`)
  const began_ms = performance.now()
  let [seeds, payments, events, failed] = [0, 0, 0, 0]
  for (let seed = first; seed < first + count && performance.now() < end_ms; seed += 1) {
    const result = await simulateSeed(seed, onLine)
    const problems = [...result.problems]
    if (is_twice) {
      const again = await simulateSeed(seed)
      if (again.digest !== result.digest) problems.push('a second run had another trace')
    }
    seeds += 1
    payments += result.payments
    events += result.events
    if (problems.length === 0) continue
    failed += 1
    report(result, problems)
  }
  const seconds = (performance.now() - began_ms) / 1_000
  const cpu = process.cpuUsage()
  const cpu_seconds = (cpu.user + cpu.system) / 1e6
  console.log(
    `${seeds} seeds, ${failed} failed, ${payments} payments, ${events} events in ${seconds.toFixed(1)} s: ` +
      `${(payments / seconds).toFixed(0)} payments/s (${(payments / cpu_seconds).toFixed(0)} per second of processor ` +
      `time), ${((seeds * 60) / seconds).toFixed(0)} seeds/minute`,
  )
  return failed
}

function report({ seed, plan, last_lines }: SeedResult, problems: readonly string[]): void {
  const faults = [...plan.faults].map(([kind, rate]) => `${kind} ${rate.toFixed(3)}`)
  const { copies, is_combined, merchants, customers, load_ms } = plan
  console.log(`\nSEED ${seed} FAILED`)
  console.log(
    `  ${is_combined ? 'all roles in each of' : 'each role in'} ${copies} processes, ${merchants} merchants with ${customers} customers for ${load_ms} ms`,
  )
  console.log(`  faults: ${faults.join(', ') || 'none'}`)
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) console.log(`  violated: ${problem}`)
  if (problems.length > PROBLEMS_SHOWN) console.log(`  and ${problems.length - PROBLEMS_SHOWN} more`)
  console.log('  the last lines of the trace:')
  for (const line of last_lines) console.log(`    ${line}`)
  console.log(`  replay: npm run simulate -- --from ${seed} --seeds 1 --trace\n`)
}
