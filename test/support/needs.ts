import { join } from 'node:path'
import { describe, test } from '@jest/globals'
import { findProgram, SERVERS_FOLDER } from './programs.ts'

/** Returns `test` if all of these programs are installed; otherwise prints what is missing and returns `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test.skip {
  return areInstalled(programs) ? test : test.skip
}

/** The same for `describe`. The hooks inside are skipped too, so they may use the programs. */
export function describeWith(...programs: readonly string[]): typeof describe.skip {
  return areInstalled(programs) ? describe : describe.skip
}

/**
 * The path of a program that `scripts/servers/install` provides. Without it prints that tests are skipped; with
 * MULTIHUB_REQUIRE_SERVERS=1 it throws instead: CI must not pass because it skipped.
 */
export function findInstalledProgram(name: string): string | undefined {
  const path = findProgram(name, [join(SERVERS_FOLDER, 'bin')])
  if (path !== undefined) return path
  if (process.env['MULTIHUB_REQUIRE_SERVERS'] === '1')
    throw new Error(`${name} is missing: run scripts/servers/install`)
  process.stderr.write(`skipped: tests that need ${name}, which scripts/servers/install provides\n`)
  return undefined
}

function areInstalled(programs: readonly string[]): boolean {
  const missing = programs.filter((program) => findProgram(program) === undefined)
  if (missing.length === 0) return true
  process.stderr.write(`skipped: tests that need ${missing.join(', ')}, which is not installed here\n`)
  return false
}
