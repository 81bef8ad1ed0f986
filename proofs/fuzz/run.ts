import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

/**
 * `npm run fuzz -- [--runs N] [--seed S] [--path P]`: sends hostile requests to a whole system that it starts. A failure
 * prints its seed and path, which replay the smallest failing request.
 */
const { values } = parseArgs({
  options: { runs: { type: 'string' }, seed: { type: 'string' }, path: { type: 'string' } },
})
const { path } = values
const seed = numberOf(values.seed) ?? randomInt(2 ** 31)
const runs = numberOf(values.runs) ?? 20_000
console.log(`seed ${seed}, ${path === undefined ? `${runs} runs` : `path ${path}`}`)

const began_ms = performance.now()
const report = await fuzz({ seed, runs, path, progress: (line) => console.log(line) })
for (const [outcome, count] of [...report.outcomes].sort())
  console.log(`${count.toString().padStart(8)}  ${outcome}`)
const { memory, log_lines, failures } = report
const seconds = ((performance.now() - began_ms) / 1000).toFixed(1)
const megabytes = (bytes = 0): string => `${Math.round(bytes / 2 ** 20)} MB`
const memory_text = `${megabytes(memory?.resident_bytes)}, ${megabytes(memory?.heap_bytes)} of it heap`
console.log(
  `${report.runs} runs in ${seconds} s, ${log_lines} log lines read; the system holds ${memory_text}`,
)
for (const failure of failures) console.error(`FAILED ${failure}\n`)
console.log(
  failures.length === 0 ? `seed ${seed}: nothing found` : `seed ${seed}: ${failures.length} failures`,
)
process.exitCode = failures.length === 0 ? 0 : 1

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new Error(`not a number: ${text}`)
  return Number(text)
}
