import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Mutation, PlantedFault, TestMutation } from './mutation.ts'

/** The folder of the project. */
export const ROOT = join(import.meta.dirname, '..', '..')
/** What is not part of the code: packages, and folders such as `.git` and `.local`. */
const isLeftOut = (path: string): boolean => path !== ROOT && /^node_modules$|^\./.test(basename(path))

/** How a planted fault was found. */
export interface Finding {
  readonly seed: number
  readonly violated: string
}

/** What the tests of a planted fault show. */
export type TestFinding = 'found' | 'not found' | 'fails without the fault too'

/** Which seeds to simulate, and for how long. */
export interface SeedRange {
  readonly first: number
  readonly seeds: number
  readonly limit_ms: number
}

/** A copy of the project in which faults are planted, one at a time. */
export interface ProjectCopy {
  /**
   * Simulates with a planted fault, and without it the seed that found it. `undefined` when it was not found. Throws when that seed
   * fails without the fault too, and when the run is stopped.
   */
  find(mutation: Mutation, range: SeedRange): Promise<Finding | undefined>
  /** Runs the tests of a planted fault with it and, when one fails, without it. Throws when the run is stopped. */
  runTests(mutation: TestMutation): Promise<TestFinding>
  remove(): Promise<void>
}

/** Longer than one seed takes on a busy machine. */
const ONE_SEED_MS = 600_000

/** Copies the code, so that faults are planted in the copy only. */
export async function copyProject(stopping: AbortSignal): Promise<ProjectCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-planted-'))
  for (const part of await readdir(ROOT))
    if (!isLeftOut(part))
      await cp(join(ROOT, part), join(folder, part), { recursive: true, filter: (path) => !isLeftOut(path) })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  /** Runs something while the fault is in the copy. */
  async function withFault<R>({ name, file, search, replace }: PlantedFault, run: () => Promise<R>) {
    const path = join(folder, file)
    const original = await readFile(path, 'utf8')
    if (original.split(search).length !== 2) throw new Error(`"${name}" does not fit ${file} any more`)
    await writeFile(
      path,
      original.replace(search, () => replace),
    )
    try {
      return await run()
    } finally {
      await writeFile(path, original)
    }
  }
  return {
    async find(mutation, range) {
      const finding = await withFault(mutation, () => simulate(folder, mutation, { ...range, stopping }))
      if (finding === undefined) return undefined
      // A seed that fails without the fault too shows something else.
      const same_seed = { first: finding.seed, seeds: 1, limit_ms: ONE_SEED_MS, stopping }
      const without = await simulate(folder, mutation, same_seed)
      if (without) throw new Error(`seed ${without.seed} fails without a fault: ${without.violated}`)
      return finding
    },
    async runTests(mutation) {
      if (!(await withFault(mutation, () => failsTests(folder, mutation, stopping)))) return 'not found'
      // A test that hangs on a busy machine, or is broken, fails without the fault too.
      return (await failsTests(folder, mutation, stopping)) ? 'fails without the fault too' : 'found'
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function simulate(
  folder: string,
  { name, needs = [], has_files, is_restored, has_backoffice, has_full_balance, is_paused }: Mutation,
  { first, seeds, limit_ms, stopping }: SeedRange & { readonly stopping: AbortSignal },
): Promise<Finding | undefined> {
  const parameters = [
    '--from',
    `${first}`,
    '--seeds',
    `${seeds}`,
    '--stop',
    '--minutes',
    `${limit_ms / 60_000}`,
  ]
  // A known seed is simulated whatever it has.
  if (seeds > 1) {
    for (const kind of needs) parameters.push('--with', kind)
    if (has_files) parameters.push('--files')
    if (is_restored) parameters.push('--restored')
    if (has_backoffice) parameters.push('--backoffice')
    if (has_full_balance) parameters.push('--full-balance')
    if (is_paused) parameters.push('--paused')
  }
  const main = join(folder, 'proofs/simulation/main.ts')
  const { code, output } = await runNode(folder, [main, ...parameters], stopping)
  if (code === 0) return undefined
  const [, seed] = /^SEED (\d+) FAILED/m.exec(output) ?? []
  if (seed === undefined) throw new Error(`"${name}" does not run: ${output.slice(-1_000)}`)
  const [, violated = ''] = /^ {2}violated: (.*)$/m.exec(output) ?? []
  return { seed: Number(seed), violated }
}

/** What the report of the tests says when at least one test ran and failed: another failure is none of the planted fault. */
const FAILED_TESTS = /^Tests: +[0-9]+ failed/m

async function failsTests(
  folder: string,
  { name, tests }: TestMutation,
  stopping: AbortSignal,
): Promise<boolean> {
  const jest = join(folder, 'node_modules/jest/bin/jest.js')
  const parameters = [jest, '--bail', '--silent', ...tests]
  const { code, output } = await runNode(folder, parameters, stopping)
  if (code === 0) return false
  if (!FAILED_TESTS.test(output)) throw new Error(`"${name}" does not run: ${output.slice(-1_000)}`)
  return true
}

async function runNode(
  cwd: string,
  parameters: readonly string[],
  stopping: AbortSignal,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [...process.execArgv, ...parameters], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = (): void => void child.kill()
  stopping.addEventListener('abort', stop)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  stopping.removeEventListener('abort', stop)
  stopping.throwIfAborted()
  return { code, output }
}
