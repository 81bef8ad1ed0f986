import { type FaultKind, planOf } from './faults/plan.ts'
import { type ProcessorShares, startProfile } from './profile.ts'
import { type SeedResult, simulateSeed } from './simulate.ts'

/** Which seeds to simulate, and how. */
export interface SeedRun {
  readonly seeds: Iterable<number>
  /** When to end, on the clock of `performance.now`, even if seeds are left. */
  readonly end_ms: number
  /** Whether to run each seed twice and compare the traces. */
  readonly is_twice: boolean
  /** Whether the first violation ends the run, also in the middle of its seed. */
  readonly stops_at_failure: boolean
  /** Whether the simulations are small, see `choosePlan`. */
  readonly is_small: boolean
  /** Whether to report whose code used the processor. */
  readonly is_profiled: boolean
  readonly onLine: ((line: string) => void) | undefined
}

const PROBLEMS_SHOWN = 20
/** Between two lines of progress. */
const PROGRESS_MS = 60_000

/**
 * Simulates seeds one after the other. Reports those that fail, and every minute how far it is. Returns how many failed.
 */
export async function runSeeds({
  seeds,
  end_ms,
  is_twice,
  stops_at_failure,
  is_small,
  is_profiled,
  onLine,
}: SeedRun): Promise<number> {
  const endProfile = is_profiled ? await startProfile() : undefined
  const began_ms = performance.now()
  let [count, payments, events, failed] = [0, 0, 0, 0]
  let progress_ms = began_ms + PROGRESS_MS
  for (const seed of seeds) {
    if (performance.now() >= end_ms) break
    if (performance.now() >= progress_ms) {
      console.log(`${count} seeds simulated, ${failed} failed; now seed ${seed}`)
      progress_ms += PROGRESS_MS
    }
    const result = await simulateSeed(seed, { is_small, stops_at_failure, onLine })
    const problems = [...result.problems]
    if (is_twice) {
      const again = await simulateSeed(seed, { is_small, stops_at_failure })
      if (again.digest !== result.digest) problems.push('a second run had another trace')
    }
    count += 1
    payments += result.payments
    events += result.events
    if (problems.length === 0) continue
    failed += 1
    report(result, problems, is_small)
    if (stops_at_failure) break
  }
  const seconds = (performance.now() - began_ms) / 1_000
  const cpu = process.cpuUsage()
  const cpu_seconds = (cpu.user + cpu.system) / 1e6
  console.log(
    `${count} seeds, ${failed} failed, ${payments} payments, ${events} events in ${seconds.toFixed(1)} s: ` +
      `${(payments / seconds).toFixed(0)} payments/s (${(payments / cpu_seconds).toFixed(0)} per second of processor ` +
      `time), ${((count * 60) / seconds).toFixed(0)} seeds/minute`,
  )
  if (endProfile !== undefined) reportShares(await endProfile(), payments / cpu_seconds)
  return failed
}

/** Also says how many payments a simulation could make whose own parts took no time. */
function reportShares({ product, simulation, node }: ProcessorShares, payments_per_second: number): void {
  const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
  console.log(
    `processor time: product ${percent(product)}, simulation ${percent(simulation)}, Node.js by itself ${percent(node)}; ` +
      `the product alone: ${(payments_per_second / product).toFixed(0)} payments per second of processor time`,
  )
}

function report(
  { seed, plan, last_lines }: SeedResult,
  problems: readonly string[],
  is_small: boolean,
): void {
  const faults = [...plan.faults].map(([kind, rate]) => `${kind} ${rate.toFixed(3)}`)
  const { copies, is_combined, has_sandbox, has_operator, has_backoffice, merchants, customers, load_ms } =
    plan
  console.log(`\nSEED ${seed} FAILED`)
  console.log(
    `  ${is_combined ? 'all roles in each of' : 'each role in'} ${copies} processes, ${merchants} merchants with ${customers} customers for ${load_ms} ms${has_operator ? ', an operator' : ''}${has_sandbox ? ', the sandbox' : ''}${has_backoffice ? ', the back office' : ''}`,
  )
  console.log(`  faults: ${faults.join(', ') || 'none'}${restoredText(plan)}`)
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) console.log(`  violated: ${problem}`)
  if (problems.length > PROBLEMS_SHOWN) console.log(`  and ${problems.length - PROBLEMS_SHOWN} more`)
  console.log('  the last lines of the trace:')
  for (const line of last_lines) console.log(`    ${line}`)
  console.log(`  replay: npm run simulate -- --from ${seed} --seeds 1${is_small ? ' --small' : ''} --trace\n`)
}

function restoredText({ restored_to, pause_days }: SeedResult['plan']): string {
  if (pause_days !== undefined) return `; a pause of ${pause_days} days`
  return restored_to === undefined ? '' : `; restored to a backup: ${restored_to}`
}

/** What a seed must have. Without `has_files` it may have files or not, and so with the others. */
export interface NeededOfSeeds {
  readonly kinds: readonly FaultKind[]
  readonly has_files: boolean
  readonly is_restored: boolean
  readonly has_backoffice: boolean
  readonly has_full_balance: boolean
  readonly is_paused: boolean
}

/** Consecutive seeds, without those that lack something that is needed. */
export function* seedsFrom(first: number, count: number, needed: NeededOfSeeds): Iterable<number> {
  for (let seed = first; seed < first + count; seed += 1) {
    const { faults, has_files, has_backoffice, has_full_balance, restored_to, pause_days } = planOf(
      seed,
      false,
    )
    const has_kinds = needed.kinds.every((kind) => faults.has(kind))
    const has_restore = restored_to !== undefined || !needed.is_restored
    const has_roles = (has_files || !needed.has_files) && (has_backoffice || !needed.has_backoffice)
    const has_merchant = has_full_balance || !needed.has_full_balance
    const has_pause = pause_days !== undefined || !needed.is_paused
    if (has_kinds && has_restore && has_roles && has_merchant && has_pause) yield seed
  }
}
