import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Mutation } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'

/**
 * `npm run simulate:planted -- [--only TEXT] [--part N/M] [--minutes M]`: plants each fault of the table in a copy of the
 * project and simulates seeds until it is found: at most 2,000, and at most 10 minutes per fault unless `--minutes` says
 * otherwise. `--only` chooses the faults whose name contains the text, `--part` every M-th of them, so that several runs
 * share the table. Prints a row of the table in docs/reliability.md for each fault.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    minutes: { type: 'string', default: '10' },
  },
})
const [part = 1, parts = 1] = values.part.split('/').map(Number)

const ROOT = join(import.meta.dirname, '..', '..', '..')
const PARTS = ['gateway', 'gen', 'lib', 'services', 'test', 'package.json', 'roles.ts']

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

/** Simulates with a planted fault. `undefined` when it was not found. */
async function find(
  folder: string,
  { name, file, search, replace, needs = [] }: Mutation,
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
    const child = spawn(
      process.execPath,
      [...process.execArgv, join(folder, 'test/simulation/main.ts'), ...parameters],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const [code] = await once(child, 'close')
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
  const chosen = MUTATIONS.filter(({ name }) => name.includes(values.only))
  for (const mutation of chosen.filter((_, index) => index % parts === part - 1)) {
    const began_ms = performance.now()
    const finding = await find(folder, mutation)
    if (finding === undefined) missed += 1
    const seconds = ((performance.now() - began_ms) / 1_000).toFixed(0)
    const shown = finding === undefined ? 'not found' : `${finding.seeds}`
    console.log(`| ${mutation.name} | ${shown} | ${seconds} s | ${(finding?.violated ?? '').slice(0, 120)} |`)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.exitCode = missed === 0 ? 0 : 1
