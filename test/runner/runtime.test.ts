import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

interface Report {
  readonly success: boolean
  readonly numRuntimeErrorTestSuites: number
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const ROOT = join(import.meta.dirname, '../..')

/** Runs these files with Jest, one after another in one process whose modules they share. */
async function runCases(names: readonly string[]): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-runner-'))
  try {
    const config = {
      rootDir: join(ROOT, 'test/runner'),
      testMatch: names.map((name) => `<rootDir>/${name}`),
      runtime: '<rootDir>/runtime.mjs',
      testEnvironment: '<rootDir>/environment.mjs',
      watchman: false,
      cacheDirectory: folder,
    }
    await writeFile(join(folder, 'config.json'), JSON.stringify(config))
    const words = ['--config', join(folder, 'config.json'), '--runInBand', '--json', '--outputFile']
    const report = join(folder, 'report.json')
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js')
    await promisify(execFile)(process.execPath, [jest, ...words, report], { cwd: ROOT }).catch(() => {})
    return JSON.parse(await readFile(report, 'utf8'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const outcomesOf = ({ testResults }: Report): Readonly<Record<string, string>> =>
  Object.fromEntries(
    testResults.flatMap(({ assertionResults }) =>
      assertionResults.map(({ fullName, status }) => [fullName, status]),
    ),
  )

test('a test that fails in any way is counted as failed, and others as what they are', async () => {
  const report = await runCases(['outcomes.cases.ts'])
  expect(report.success).toBe(false)
  expect(outcomesOf(report)).toEqual({
    passes: 'passed',
    'passes below 2: 1': 'passed',
    'passes below 2: 2': 'failed',
    'fails by a stray rejection': 'failed',
    'fails by an error of a timer': 'failed',
    'fails because it hangs': 'failed',
    'is skipped': 'pending',
    'fails by its hook and this with it': 'failed',
  })
})

test('a file meets no timer, clock, variable, mock or metric of the file before it in the same process', async () => {
  const report = await runCases(['first.cases.ts', 'second.cases.ts'])
  expect(outcomesOf(report)).toEqual({
    'leaves a timer, a clock, a variable, a mock and metrics behind': 'passed',
    'meets nothing that the first file has left behind': 'passed',
  })
  expect([report.success, report.numRuntimeErrorTestSuites]).toEqual([true, 0])
})
