import { describe, test } from '@jest/globals'
import { findProgram } from './programs.ts'

/** Returns `test` if all of these programs are installed; otherwise prints what is missing and returns `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test.skip {
  return areInstalled(programs) ? test : test.skip
}

/** The same for `describe`. The hooks inside are skipped too, so they may use the programs. */
export function describeWith(...programs: readonly string[]): typeof describe.skip {
  return areInstalled(programs) ? describe : describe.skip
}

function areInstalled(programs: readonly string[]): boolean {
  const missing = programs.filter((program) => findProgram(program) === undefined)
  if (missing.length === 0) return true
  process.stderr.write(`skipped: tests that need ${missing.join(', ')}, which is not installed here\n`)
  return false
}
