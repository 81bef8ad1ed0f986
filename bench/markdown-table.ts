import { type BenchResult, type Goal, reachesGoal } from './result.ts'

const HEAD = ['name', 'ours', 'baseline', 'unit', 'ratio', 'goal', '']

/** Formats the results as a Markdown table with aligned columns, readable in a terminal and in bench/RESULTS.md. */
export function formatTable(results: readonly BenchResult[]): string {
  const rows = [HEAD, ...results.map(cells)]
  const widths = HEAD.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [HEAD, rule, ...rows.slice(1)]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`)
    .join('')
}

function cells(result: BenchResult): string[] {
  const { name, ours, baseline, unit, ratio, goal } = result
  const verdict = { true: 'ok', false: 'below', undefined: '' }[`${reachesGoal(result)}`]
  return [
    name,
    formatNumber(ours),
    baseline === undefined ? '' : formatNumber(baseline),
    unit,
    ratio === undefined ? '' : ratio.toFixed(2),
    goal ? formatGoal(goal) : '',
    verdict,
  ]
}

function formatGoal(goal: Goal): string {
  return 'ratio' in goal ? `ratio ${goal.ratio.toFixed(2)}` : `at most ${formatNumber(goal.at_most)}`
}

/** Rounds to three digits, because the measurements are not more precise. */
function formatNumber(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(3)
}
