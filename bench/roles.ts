import { sleep } from '#lib/base/time.ts'
import { ROLES, type RoleName } from '#lib/role/role.ts'
import { natsForTests } from '../test/support/servers.ts'
import type { BenchResult } from './result.ts'
import { type LoadResult, type PaymentLoad, startPaymentLoad } from './roles/payment-load.ts'
import { type ByRole, type RoleProcesses, type Start, startRoleProcesses } from './roles/role-processes.ts'
import { printProgress } from './rounds.ts'

const STARTS = 3
const REST_MS = 10_000
const RATES = [500, 350, 250, 150, 100, 50, 25]
const TRIAL_MS = 8_000
const WARM_UP_PAYMENTS_PER_SECOND = 50
const LOAD_MS = 30_000
/** A rate is steady when nearly all of it is sent in time and booked soon after. The sandbox waits for a second. */
const STEADY = 0.9
const BACKLOG_MS = 3_000
const MINUTE_MS = 60_000

/**
 * `roles`: one process per role on embedded stores. The time until each is ready, its memory and processor time at rest, and
 * both at 500 payments/s, or at the highest rate of a list that this machine sustains. Half of the payments are deposits and
 * half withdrawals; each is completed, booked and called back.
 */
export async function run(): Promise<BenchResult[]> {
  const nats = await natsForTests()
  if ('skip' in nats) throw new Error(nats.skip)
  const system = await startRoleProcesses(nats.url)
  const load = await startPaymentLoad(system.demo)
  const rows = (what: string, unit: string, values: ByRole<number>, factor = 1): BenchResult[] =>
    ROLES.map((role) => ({ name: `roles, ${role}, ${what}`, unit, ours: values[role] * factor }))
  try {
    printProgress('roles, start')
    const starts = await measureStarts(system)
    printProgress('roles, at rest')
    await sleep(REST_MS)
    const rest_memory = await system.memories()
    const rest = await withCpu(system, () => sleep(REST_MS))
    await load.send(WARM_UP_PAYMENTS_PER_SECOND, TRIAL_MS)
    const rate = await steadyRate(load)
    printProgress(`roles, at ${rate} payments/s`)
    const stored = await system.storedBytes()
    const loaded = await withCpu(system, () => load.send(rate, LOAD_MS))
    const load_memory = await system.memories()
    const stored_after = await system.storedBytes()
    const growth = byRole((role) => stored_after[role] - stored[role])
    const { payments, elapsed_ms, p99_ms } = loaded.result
    return [
      ...rows('start', 'ms', medians(starts, 'elapsed_ms')),
      ...rows('start, processor', 'ms', medians(starts, 'cpu_ms')),
      ...rows('memory at rest', 'MB', rest_memory),
      ...rows('processor at rest', 'ms/min', rest.cpu_ms, MINUTE_MS / REST_MS),
      { name: 'roles, payments', unit: '1/s', ours: (payments / elapsed_ms) * 1_000 },
      { name: 'roles, creation, p99', unit: 'ms', ours: p99_ms },
      ...rows(`memory at ${rate}/s`, 'MB', load_memory),
      ...rows(`processor at ${rate}/s`, 'ms/payment', loaded.cpu_ms, 1 / payments),
      ...rows('stored', 'bytes/payment', growth, 1 / payments),
    ]
  } finally {
    load.stop()
    await system.end()
    await nats.stop()
  }
}

/** Starts each role several times, each alone, while the others run. */
async function measureStarts(system: RoleProcesses): Promise<readonly ByRole<Start>[]> {
  const measured: ByRole<Start>[] = []
  for (let time = 0; time < STARTS; time += 1) measured.push(await system.restartAll())
  return measured
}

function medians(starts: readonly ByRole<Start>[], field: keyof Start): ByRole<number> {
  const medianOf = (role: RoleName): number =>
    starts.map((one) => one[role][field]).toSorted((left, right) => left - right)[Math.floor(STARTS / 2)] ?? 0
  return byRole(medianOf)
}

/** The first rate of the list that the system sustains; the last one when it sustains none. */
async function steadyRate(load: PaymentLoad): Promise<number> {
  for (const rate of RATES) {
    printProgress(`roles, trying ${rate} payments/s`)
    // Far above its rate a system also refuses requests.
    const result = await load.send(rate, TRIAL_MS).catch(() => undefined)
    if (result !== undefined && isSteady(result, rate)) return rate
  }
  return RATES.at(-1) ?? 0
}

function isSteady({ payments, elapsed_ms }: LoadResult, rate: number): boolean {
  return payments >= rate * (TRIAL_MS / 1_000) * STEADY && elapsed_ms < TRIAL_MS + BACKLOG_MS
}

/** The processor time of each role during some work, in ms. */
async function withCpu<T>(
  system: RoleProcesses,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpu_ms: ByRole<number> }> {
  const before = await system.cpuTimes()
  const result = await work()
  const after = await system.cpuTimes()
  return { result, cpu_ms: byRole((role) => after[role] - before[role]) }
}

function byRole(read: (role: RoleName) => number): ByRole<number> {
  return Object.fromEntries(ROLES.map((role) => [role, read(role)])) as ByRole<number>
}
