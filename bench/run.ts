import { parseArgs } from 'node:util'
import { type BenchResult, reached } from './result.ts'
import { table } from './table.ts'

type Benchmark = () => Promise<BenchResult[]>

/** Each benchmark's code is loaded when it runs, so that what one brings along does not weigh on another. */
const BENCHMARKS: Readonly<Record<string, () => Promise<{ readonly run: Benchmark }>>> = {
  rpc: () => import('./rpc.ts'),
  store: () => import('./store-embedded.ts'),
  ledger: () => import('./ledger.ts'),
  gateway: () => import('./gateway.ts'),
  payment: () => import('./payment-in.ts'),
  start: () => import('./start.ts'),
}

/** `npm run bench`: runs the benchmarks that are named, or all, one after the other, and prints what they found. */
async function main(): Promise<void> {
  const { names, json } = readArguments()
  const results: BenchResult[] = []
  for (const [name, load] of Object.entries(BENCHMARKS)) {
    if (names.length > 0 && !names.includes(name)) continue
    process.stderr.write(`${name} ...\n`)
    const { run } = await load()
    results.push(...(await run()))
  }
  const shown = results.map((result) => ({ ...result, reached: reached(result) }))
  process.stdout.write(json ? `${JSON.stringify(shown, null, 2)}\n` : table(results))
}

function readArguments(): { names: readonly string[]; json: boolean } {
  const { positionals: names, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const unknown = names.find((name) => !Object.hasOwn(BENCHMARKS, name))
  if (unknown !== undefined) {
    throw new Error(`there is no benchmark ${unknown}: name some of ${Object.keys(BENCHMARKS).join(', ')}`)
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
