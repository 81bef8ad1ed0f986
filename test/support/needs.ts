import { join } from 'node:path'
import { describe, test } from '@jest/globals'
import { findProgram, SERVERS_FOLDER } from './programs.ts'
import { skipWithout } from './skip.ts'

/** Returns `test` if all of these programs are installed, otherwise `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test.skip {
  return areInstalled(programs) ? test : test.skip
}

/** The same for `describe`. The hooks inside are skipped too, so they may use the programs. */
export function describeWith(...programs: readonly string[]): typeof describe.skip {
  return areInstalled(programs) ? describe : describe.skip
}

/** The path of a program that `scripts/servers/install` provides; undefined if the tests that need it are skipped. */
export function findInstalledProgram(name: string): string | undefined {
  const path = findProgram(name, [join(SERVERS_FOLDER, 'bin')])
  if (path === undefined) skipWithout(`${name} is missing: run scripts/servers/install`)
  return path
}

function areInstalled(programs: readonly string[]): boolean {
  const missing = programs.filter((program) => findProgram(program) === undefined)
  if (missing.length > 0) skipWithout(`${missing.join(', ')} is not installed here`)
  return missing.length === 0
}
