import { spawnSync } from 'node:child_process'
import { test } from '@jest/globals'

/** Returns `test` if all of these programs are installed; otherwise prints what is missing and returns `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test.skip {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error)
  if (missing.length === 0) return test
  process.stderr.write(`skipped: tests that need ${missing.join(', ')}, which is not installed here\n`)
  return test.skip
}
