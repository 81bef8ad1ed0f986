import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { testWith } from '../../../test/support/needs.ts'
import { runCommand } from '../program.ts'

const execute = promisify(execFile)

/** What a person has typed before Tab, some of the words that are offered, and a word that is not. */
const CASES = [
  ['multihub ', ['refunds', 'timeline'], 'approve'],
  ['multihub ref', ['refunds'], 'timeline'],
  ['multihub --', ['--help', '--version'], '--merchant-id'],
  ['multihub refunds ', ['approve', 'reject'], 'settle'],
  ['multihub refunds approve --mer', ['--merchant-id'], '--status'],
  ['multihub refunds approve r1 --mer', ['--merchant-id'], '--status'],
  ['multihub chargebacks add-evidence c1 --file pro', ['proof.pdf'], 'other.pdf'],
  ['multihub timeline --', ['--reveal', '--json'], '--merchant-id'],
  ['multihub merchants update --st', ['--status'], '--name'],
] as const

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-completion-'))
  for (const name of ['proof.pdf', 'other.pdf']) writeFileSync(join(folder, name), '')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes the completion of a shell into a file. */
async function scriptOf(shell: string): Promise<string> {
  let text = ''
  await runCommand(['completion', shell], {
    variables: {},
    directory: folder,
    stdin: process.stdin,
    stdout: { write: (more) => (text += more) },
    stderr: { write: () => true },
  })
  const path = join(folder, `multihub.${shell}`)
  writeFileSync(path, text)
  return path
}

function expectWords(line: string, shown: string): void {
  const [, offered, not_offered] = CASES.find(([typed]) => typed === line) ?? []
  const words = shown.split(/\s+/)
  expect([line, words]).toEqual([line, expect.arrayContaining([...(offered ?? [])])])
  expect([line, words]).not.toEqual([line, expect.arrayContaining([not_offered])])
}

testWith('fish')('fish completes commands and flags', async () => {
  const script = await scriptOf('fish')
  const options = { cwd: folder, env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder } }
  for (const [line] of CASES) {
    const ask = `source ${script}; complete -C '${line}'`
    const { stdout } = await execute('fish', ['--no-config', '-c', ask], options)
    expectWords(line, stdout)
  }
})

/** Types each line and Tab into an interactive zsh, and prints what that shows. Ctrl-U takes the line away. */
const TYPE_INTO_ZSH = `
zmodload zsh/zpty
zpty shell TERM=dumb zsh -f -i
zpty -w shell "PS1='rea''dy> '; autoload -Uz compinit; compinit -u -D; source $1; LISTMAX=10000; bindkey '^I' list-choices"
shift
zpty -r -m shell shown '*ready> *'
for line in "$@"; do
  zpty -w -n shell "$line"$'\\t\\x15'"print DO''NE"$'\\n'
  zpty -r -m shell shown '*DONE*ready> *'
  print -rn -- "$shown"$'\\0'
done
`

testWith('zsh')('zsh completes commands and flags', async () => {
  const script = await scriptOf('zsh')
  const lines = CASES.map(([line]) => line)
  const { stdout } = await execute('zsh', ['-f', '-c', TYPE_INTO_ZSH, 'zsh', script, ...lines], {
    cwd: folder,
    env: { ...process.env, HOME: folder },
    timeout: 30_000,
  })
  for (const [n, shown] of stdout.split('\0').slice(0, -1).entries())
    expectWords(lines[n] ?? '', stripVTControlCharacters(shown))
  expect(stdout.split('\0')).toHaveLength(lines.length + 1)
})
