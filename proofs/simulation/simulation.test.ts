import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { IS_WHOLE } from '../../test/support/property-runs.ts'
import { MUTATIONS } from '../planted/mutations.ts'
import { TEST_MUTATIONS } from '../planted/test-mutations.ts'
import { FAILED_SEEDS } from './failed-seeds.ts'

/** Runs the simulation in a process of its own, because it replaces the clock and the randomness of its process. */
async function simulate(...parameters: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = await once(child, 'close')
  return { code, output }
}

const SEEDS = IS_WHOLE ? 20 : 2

test(`${SEEDS} seeds pass, and each has the same trace when it runs again`, async () => {
  const { code, output } = await simulate('--from', '1', '--seeds', `${SEEDS}`, '--twice', '--small')
  expect(output).toContain(`${SEEDS} seeds, 0 failed`)
  expect(code).toBe(0)
}, 1_800_000)

const FAILED = IS_WHOLE ? FAILED_SEEDS.length : 4

test(`the last ${FAILED} seeds that ever failed pass`, async () => {
  const words = ['--failed', '--seeds', `${FAILED}`, '--profile']
  const { code, output } = await simulate(...words, ...(IS_WHOLE ? [] : ['--small']))
  expect(output).toMatch(/^processor time: product [0-9]+ %, simulation [0-9]+ %/m)
  expect(output).toContain(`${FAILED} seeds, 0 failed`)
  expect(code).toBe(0)
}, 1_800_000)

test('every planted fault still fits the code', async () => {
  const counts = await Promise.all(
    [...MUTATIONS, ...TEST_MUTATIONS].map(async ({ name, file, search }) => {
      const text = await readFile(join(import.meta.dirname, '..', '..', file), 'utf8')
      return [name, text.split(search).length - 1]
    }),
  )
  expect(counts.filter(([, count]) => count !== 1)).toEqual([])
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(25)
})

test('every planted fault has one row in proofs/RESULTS.md', async () => {
  const page = await readFile(join(import.meta.dirname, '..', 'RESULTS.md'), 'utf8')
  const rowsOf = (name: string): number => page.split(`\n| ${name} | `).length - 1
  const names = [...MUTATIONS, ...TEST_MUTATIONS].map(({ name }) => name)
  expect(names.filter((name) => rowsOf(name) !== 1)).toEqual([])
})
