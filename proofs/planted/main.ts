import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Mutation } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'

/**
 * `npm run simulate:planted -- [--only TEXT] [--from TEXT] [--part N/M] [--minutes M]`: plants each fault of the table in a
 * copy of the project and simulates seeds until it is found: at most 2,000, and at most 10 minutes per fault unless
 * `--minutes` says otherwise. `--only` chooses the faults whose name contains the text, `--part` every M-th of them, so that
 * several runs share the table. Prints a row of the table in proofs/RESULTS.md for each fault. A run that is stopped
 * (SIGINT, SIGTERM) leaves nothing behind and goes on with `--from`, which names the first fault to plant.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    from: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    minutes: { type: 'string', default: '10' },
  },
})
const [part = 1, parts = 1] = values.part.split('/').map(Number)

const ROOT = join(import.meta.dirname, '..', '..')
const PARTS = ['app', 'gateway', 'gen', 'lib', 'operations', 'proofs', 'services', 'test', 'package.json']

/** How a planted fault was found. */
interface Finding {
  readonly seeds: number
  readonly violated: string
}

/** Copies the code, so that faults are planted in the copy only. */
async function copyProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-planted-'))
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

/** Simulates with a planted fault. `undefined` when it was not found. Throws when the run is stopped. */
async function find(
  folder: string,
  { name, file, search, replace, needs = [], has_files = false }: Mutation,
): Promise<Finding | undefined> {
  const path = join(folder, file)
  const original = await readFile(path, 'utf8')
  if (original.split(search).length !== 2) throw new Error(`"${name}" does not fit ${file} any more`)
  await writeFile(
    path,
    original.replace(search, () => replace),
  )
  try {
    const parameters = ['--from', '1', '--seeds', '2000', '--stop', '--minutes', values.minutes]
    for (const kind of needs) parameters.push('--with', kind)
    if (has_files) parameters.push('--files')
    const child = spawn(
      process.execPath,
      [...process.execArgv, join(folder, 'proofs/simulation/main.ts'), ...parameters],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const stop = (): void => void child.kill()
    stopping.signal.addEventListener('abort', stop)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const [code] = await once(child, 'close')
    stopping.signal.removeEventListener('abort', stop)
    stopping.signal.throwIfAborted()
    const [, seed] = /^SEED (\d+) FAILED/m.exec(output) ?? []
    if (code === 0) return undefined
    if (seed === undefined) throw new Error(`"${name}" does not run: ${output.slice(-1_000)}`)
    const [, violated = ''] = /^ {2}violated: (.*)$/m.exec(output) ?? []
    return { seeds: Number(seed), violated }
  } finally {
    await writeFile(path, original)
  }
}

const folder = await copyProject()
let missed = 0
try {
  const first = MUTATIONS.findIndex(({ name }) => name.includes(values.from))
  if (first === -1) throw new Error(`no planted fault has a name with "${values.from}"`)
  const chosen = MUTATIONS.slice(first).filter(({ name }) => name.includes(values.only))
  for (const mutation of chosen.filter((_, index) => index % parts === part - 1)) {
    const began_ms = performance.now()
    const finding = await find(folder, mutation)
    if (finding === undefined) missed += 1
    const seconds = ((performance.now() - began_ms) / 1_000).toFixed(0)
    const shown = finding === undefined ? 'not found' : `${finding.seeds}`
    console.log(`| ${mutation.name} | ${shown} | ${seconds} s | ${(finding?.violated ?? '').slice(0, 120)} |`)
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error
  missed += 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.exitCode = missed === 0 ? 0 : 1
