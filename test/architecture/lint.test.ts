import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'

/** Lints one file with the project's rules in a temporary folder. Returns the output of the linter. */
async function lint(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-lint-'))
  try {
    const { linter, overrides } = JSON.parse(await readFile(join(ROOT, 'biome.json'), 'utf8'))
    await writeFile(join(folder, 'biome.json'), JSON.stringify({ linter, overrides }))
    await writeFile(join(folder, 'probe.ts'), text)
    const biome = join(ROOT, 'node_modules', '.bin', 'biome')
    const { stdout, stderr } = spawnSync(biome, ['lint', '.'], { cwd: folder, encoding: 'utf8' })
    return stdout + stderr
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const PROMISE = 'async function act(): Promise<number> {\n  return await Promise.resolve(1)\n}\n'

test('the linter reports a promise that is not awaited', async () => {
  const floating = await lint(`${PROMISE}export function start(): void {\n  act()\n}\n`)
  expect(floating).toContain('noFloatingPromises')
  const awaited = await lint(`${PROMISE}export async function start(): Promise<void> {\n  await act()\n}\n`)
  expect(awaited).not.toContain('noFloatingPromises')
})

test('the linter reports a function of more than 70 lines of code, and a suppression that is not needed', async () => {
  const functionOf = (lines: number): string =>
    `export function count(): number {\n  let sum = 0\n${'  sum += 1\n'.repeat(lines - 2)}  return sum\n}\n`
  const suppression = '// biome-ignore lint/complexity/noExcessiveLinesPerFunction: for this test\n'
  expect(await lint(functionOf(71))).toContain('noExcessiveLinesPerFunction')
  expect(await lint(functionOf(70))).not.toContain('noExcessiveLinesPerFunction')
  expect(await lint(suppression + functionOf(71))).not.toContain('noExcessiveLinesPerFunction')
  expect(await lint(suppression + functionOf(70))).toContain('suppressions/unused')
})

test('the linter reports ++ and --', async () => {
  const counting = (change: string): string => `let sum = 0\n${change}\nexport const total = sum\n`
  for (const change of ['sum++', '--sum', 'for (let at = 0; at < 9; at++) sum += at'])
    expect(await lint(counting(change))).toContain('noIncrementDecrement')
  expect(await lint(counting('sum += 1'))).not.toContain('noIncrementDecrement')
})

test.each([
  'export function Count(): void {}',
  'export function count_all(): void {}',
  'export function count(Limit: number): number {\n  return Limit\n}',
  'export function count(): number {\n  const LIMIT = 1\n  return LIMIT\n}',
  'export interface delivery {\n  readonly id: string\n}',
  'export interface Delivery {\n  readonly ID: string\n}',
])('the linter reports the wrong case in %j', async (text) => {
  expect(await lint(`${text}\n`)).toContain('useNamingConvention')
})

test('the linter accepts values in snake_case, functions in camelCase and constants of a module in UPPER_CASE', async () => {
  const text = `export const LIMIT_MS = 1
export const paymentSchema = { 'X-Header': LIMIT_MS, Body: 2 }
export function readNow(time_ms: number, onError: () => void): number {
  const next_ms = time_ms + 1
  onError()
  return next_ms
}
`
  expect(await lint(text)).not.toContain('useNamingConvention')
})
