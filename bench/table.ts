import { type BenchResult, type Goal, reached } from './result.ts'

const HEAD = ['name', 'ours', 'floor', 'unit', 'ratio', 'goal', '']

/** The results as a table for people; Markdown, so that it can be kept as it is. */
export function table(results: readonly BenchResult[]): string {
  const rows = [HEAD, ...results.map(cells)]
  const widths = HEAD.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [HEAD, rule, ...rows.slice(1)]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`)
    .join('')
}

function cells(result: BenchResult): string[] {
  const { name, ours, floor, unit, ratio, goal } = result
  const verdict = { true: 'ok', false: 'below', undefined: '' }[`${reached(result)}`]
  return [name, number(ours), number(floor), unit, ratio.toFixed(2), goal ? goalText(goal) : '', verdict]
}

function goalText(goal: Goal): string {
  return 'ratio' in goal ? `ratio ${goal.ratio.toFixed(2)}` : `at most ${number(goal.at_most)}`
}

/** Three digits are what such measurements are good for. */
function number(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(3)
}
