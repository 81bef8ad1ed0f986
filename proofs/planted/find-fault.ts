import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutation } from './mutation.ts'

/** The folder of the project. */
export const ROOT = join(import.meta.dirname, '..', '..')
const PARTS = ['app', 'gateway', 'gen', 'lib', 'operations', 'proofs', 'services', 'test', 'package.json']

/** How a planted fault was found. */
export interface Finding {
  readonly seed: number
  readonly violated: string
}

/** Which seeds to simulate, and for how long. */
export interface SeedRange {
  readonly first: number
  readonly seeds: number
  readonly limit_ms: number
}

/** A copy of the project in which faults are planted, one at a time. */
export interface ProjectCopy {
  /** Simulates with a planted fault. `undefined` when it was not found. Throws when the run is stopped. */
  find(mutation: Mutation, range: SeedRange): Promise<Finding | undefined>
  remove(): Promise<void>
}

/** Copies the code, so that faults are planted in the copy only. */
export async function copyProject(stopping: AbortSignal): Promise<ProjectCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-planted-'))
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return {
    async find(mutation, range) {
      const { name, file, search, replace } = mutation
      const path = join(folder, file)
      const original = await readFile(path, 'utf8')
      if (original.split(search).length !== 2) throw new Error(`"${name}" does not fit ${file} any more`)
      await writeFile(
        path,
        original.replace(search, () => replace),
      )
      try {
        return await simulate(folder, mutation, { ...range, stopping })
      } finally {
        await writeFile(path, original)
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function simulate(
  folder: string,
  { name, needs = [], has_files = false, is_restored = false, has_backoffice = false }: Mutation,
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
  }
  const main = join(folder, 'proofs/simulation/main.ts')
  const child = spawn(process.execPath, [...process.execArgv, main, ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = (): void => void child.kill()
  stopping.addEventListener('abort', stop)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = await once(child, 'close')
  stopping.removeEventListener('abort', stop)
  stopping.throwIfAborted()
  if (code === 0) return undefined
  const [, seed] = /^SEED (\d+) FAILED/m.exec(output) ?? []
  if (seed === undefined) throw new Error(`"${name}" does not run: ${output.slice(-1_000)}`)
  const [, violated = ''] = /^ {2}violated: (.*)$/m.exec(output) ?? []
  return { seed: Number(seed), violated }
}
