import { randomInt } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { fuzz } from './fuzz.ts'

const RUNS = 20_000

test('hostile requests never get through, and leave nothing behind', async () => {
  const seed = randomInt(2 ** 31)
  process.stderr.write(`fuzz: seed ${seed}, ${RUNS} runs\n`)
  const { failures, outcomes, runs, log_lines } = await fuzz({ seed, runs: RUNS })
  expect(failures).toEqual([])
  expect(runs).toBe(RUNS)
  // A fuzzer that meets no answer of a kind, or no log, would find nothing and not say so.
  for (const code of [
    'success',
    1001,
    1002,
    1003,
    1005,
    1006,
    1007,
    3000,
    3001,
    3002,
    3003,
    3008,
    6002,
    9000,
  ])
    expect([...outcomes.keys()].some((outcome) => outcome.endsWith(`-> ${code}`))).toBe(true)
  expect(log_lines).toBeGreaterThan(RUNS / 2)
}, 180_000)
