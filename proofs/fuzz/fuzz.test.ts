import { randomInt } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { IS_WHOLE } from '../../test/support/property-runs.ts'
import { fuzz } from './fuzz.ts'

const RUNS = IS_WHOLE ? 20_000 : 2_000

const CODES = ['success', 1001, 1002, 1003, 1005, 1006, 1007, 3000, 3001, 3002, 3003, 3008, 6002, 9000]

test('hostile requests get the expected response, and change no stored state', async () => {
  const seed = randomInt(2 ** 31)
  process.stderr.write(`fuzz: seed ${seed}, ${RUNS} runs\n`)
  const { failures, outcomes, runs, log_lines } = await fuzz({ seed, runs: RUNS })
  expect(failures).toEqual([])
  expect(runs).toBeGreaterThanOrEqual(RUNS)
  // Without these checks, a fuzzer whose requests all end in the same refusal would pass unnoticed.
  const met = CODES.filter((code) => [...outcomes.keys()].some((outcome) => outcome.endsWith(`-> ${code}`)))
  expect(met).toEqual(CODES)
  expect(log_lines).toBeGreaterThan(RUNS / 2)
}, 900_000)
