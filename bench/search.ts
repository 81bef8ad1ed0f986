import { randomFraction, randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import { cpuTime } from '../test/support/process-use.ts'
import { STORED_C_ID } from './payment/copy-payments.ts'
import { withStoredPayments } from './payment/stored-system.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'
import type { BenchSystem } from './system.ts'

const STORED = 1_000_000
const SEARCHES = 1_000
const WARM_UP_SEARCHES = 200

/**
 * `Search` through the back office of the whole system in one process with 1,000,000 stored payments, one search after the other:
 * by a c_id, which finds one payment, and by a text that names nothing.
 */
export async function run(): Promise<BenchResult[]> {
  return withStoredPayments(STORED, async (system) => {
    const anyStored = (): string => `${STORED_C_ID}${Math.floor(randomFraction() * STORED)}`
    return [
      ...(await measure(system, 'by c_id', 1, anyStored)),
      ...(await measure(system, 'by a text that names nothing', 0, () => randomHex(16))),
    ]
  })
}

async function measure(
  system: BenchSystem,
  name: string,
  expected: number,
  textOf: () => string,
): Promise<BenchResult[]> {
  printProgress(name)
  const times_ms: number[] = []
  let used_ms = 0
  for (let search = -WARM_UP_SEARCHES; search < SEARCHES; search += 1) {
    const started_ms = clock.monotonic_ms()
    if (search === 0) used_ms = cpuTime(system.pid)
    const found = await countFound(system, textOf())
    if (search >= 0) times_ms.push(clock.monotonic_ms() - started_ms)
    if (found !== expected) throw new Error(`a search ${name} found ${found} things instead of ${expected}`)
  }
  const per_search_ms = (cpuTime(system.pid) - used_ms) / SEARCHES
  times_ms.sort((a, b) => a - b)
  const at = (fraction: number): number => times_ms[Math.floor(times_ms.length * fraction)] ?? 0
  return [
    { name: `Search ${name} with 10^6 payments, p50`, ours: at(0.5), unit: 'ms' },
    { name: `Search ${name} with 10^6 payments, p99`, ours: at(0.99), unit: 'ms', goal: { at_most: 50 } },
    { name: `Search ${name} with 10^6 payments, processor`, ours: per_search_ms, unit: 'ms/search' },
  ]
}

async function countFound({ demo }: BenchSystem, text: string): Promise<number> {
  const response = await fetch(`${demo.backoffice_url}/multihub.backoffice.v1.SearchService/Search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${demo.operator.token}` },
    body: JSON.stringify({ text }),
  })
  const { references = [] } = (await response.json()) as { readonly references?: readonly unknown[] }
  if (!response.ok) throw new Error(`a search was refused with ${response.status}`)
  return references.length
}
