import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { copyProject, type Finding, ROOT } from './find-fault.ts'
import type { Mutation } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'
import { readKnownSeeds, recordProof } from './results.ts'
import { TEST_MUTATIONS } from './test-mutations.ts'

/**
 * `npm run simulate:planted -- [--only TEXT] [--from TEXT] [--part N/M] [--minutes M] [--budget 30m] [--record] [--tests]`: plants each
 * fault of the table in a copy of the project and simulates until it is found. First the seed of its row in
 * proofs/RESULTS.md, then for those that it no longer shows up to 2,000 seeds from 1: each at most `--minutes` (10), all
 * together at most `--budget`. `--only` chooses the faults whose name contains the text (several may be given), `--part` every M-th
 * of them, so that several runs share the table. Each fault prints its row; `--record` also writes it into the table. In the end the
 * faults that the present simulation did not find are listed, and those for which no time was left. A run that is stopped (SIGINT,
 * SIGTERM) leaves nothing behind and goes on with `--from`, which names the first fault to plant. `--tests` plants the faults that
 * tests must find, and runs these instead: with the fault one must fail, and without it none.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    from: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    minutes: { type: 'string', default: '10' },
    budget: { type: 'string', default: '100h' },
    record: { type: 'boolean', default: false },
    tests: { type: 'boolean', default: false },
  },
})
const RESULTS = join(ROOT, 'proofs', 'RESULTS.md')
const MINUTE_MS = 60_000
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: MINUTE_MS, h: 60 * MINUTE_MS }
const SEEDS_MAX = 2_000
/** Less time finds nothing: a process has to start, and one seed to end. */
const SEARCH_MIN_MS = 15_000

const began_ms = performance.now()
const end_ms = began_ms + budgetMs(values.budget)
const left_ms = (): number => end_ms - performance.now()
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

const chosen = values.tests ? [] : chooseMutations()
const known = await readKnownSeeds(RESULTS)
const copy = await copyProject(stopping.signal)
const searched = new Set<Mutation>()
const open = new Set(chosen)
let missed_by_tests = 0
try {
  if (values.tests) missed_by_tests = await runAllTests()
  for (const mutation of chosen) {
    const seed = known.get(mutation.name)
    if (seed === undefined || left_ms() < SEARCH_MIN_MS) continue
    await search(mutation, { first: seed, seeds: 1, limit_ms: left_ms() })
  }
  for (const mutation of [...open]) {
    // What is left of the budget is for all that are not found yet.
    const share_ms = Math.max(SEARCH_MIN_MS, left_ms() / (open.size - missed().length))
    const limit_ms = Math.min(Number(values.minutes) * MINUTE_MS, share_ms, left_ms())
    if (limit_ms < SEARCH_MIN_MS) break
    searched.add(mutation)
    await search(mutation, { first: 1, seeds: SEEDS_MAX, limit_ms })
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error
} finally {
  await copy.remove()
}
if (!values.tests) report()
process.exitCode = open.size === 0 && missed_by_tests === 0 ? 0 : 1

interface Search {
  readonly first: number
  readonly seeds: number
  readonly limit_ms: number
}

async function search(mutation: Mutation, { first, seeds, limit_ms }: Search): Promise<void> {
  const search_began_ms = performance.now()
  const finding = await copy.find(mutation, { first, seeds, limit_ms })
  const seconds = Math.round((performance.now() - search_began_ms) / 1_000)
  if (finding !== undefined) open.delete(mutation)
  console.log(
    `| ${mutation.name} | ${describe(finding, first, seeds)} | ${seconds} s |${violated(finding)} ${progress()}`,
  )
  if (finding && values.record)
    await recordProof(RESULTS, { name: mutation.name, proof: `${finding.seed}`, seconds })
}

/** Returns how many faults no test has found. */
async function runAllTests(): Promise<number> {
  let missed_count = 0
  for (const mutation of TEST_MUTATIONS.filter(({ name }) => isNamed(name))) {
    const test_began_ms = performance.now()
    const finding = await copy.runTests(mutation)
    const is_found = finding === 'found'
    if (!is_found) missed_count += 1
    const files = mutation.tests.map((path) => path.split('/').at(-1)).join(', ')
    const seconds = Math.round((performance.now() - test_began_ms) / 1_000)
    console.log(
      `| ${mutation.name} | ${is_found ? '' : `${finding.toUpperCase()}: `}${files} | ${seconds} s |`,
    )
    if (is_found && values.record) await recordProof(RESULTS, { name: mutation.name, proof: files, seconds })
  }
  return missed_count
}

function isNamed(name: string): boolean {
  return values.only.some((text) => name.includes(text))
}

function describe(finding: Finding | undefined, first: number, seeds: number): string {
  if (finding !== undefined) return `${finding.seed}`
  return seeds === 1 ? `not with seed ${first}` : 'not found'
}

function violated(finding: Finding | undefined): string {
  return finding === undefined ? '' : ` ${finding.violated.slice(0, 120)} |`
}

function progress(): string {
  const minutes = ((performance.now() - began_ms) / MINUTE_MS).toFixed(1)
  return `(${chosen.length - open.size} of ${chosen.length} found after ${minutes} min)`
}

function missed(): readonly Mutation[] {
  return [...open].filter((mutation) => searched.has(mutation))
}

function report(): void {
  const left = [...open].filter((mutation) => !searched.has(mutation))
  for (const { name } of missed()) console.log(`NOT FOUND by the present simulation: ${name}`)
  for (const { name } of left) console.log(`no time was left for: ${name}`)
  if (open.size === 0) console.log(`all ${chosen.length} planted faults were found`)
}

function chooseMutations(): readonly Mutation[] {
  const [part = 1, parts = 1] = values.part.split('/').map(Number)
  const first = MUTATIONS.findIndex(({ name }) => name.includes(values.from))
  if (first === -1) throw new Error(`no planted fault has a name with "${values.from}"`)
  const named = MUTATIONS.slice(first).filter(({ name }) => isNamed(name))
  return named.filter((_, index) => index % parts === part - 1)
}

function budgetMs(text: string): number {
  const [, count, unit = ''] = /^([0-9]{1,5})([smh])$/.exec(text) ?? []
  if (count === undefined) throw new Error(`--budget is a time such as 30m, not ${text}`)
  return Number(count) * (UNIT_MS[unit] ?? 0)
}
