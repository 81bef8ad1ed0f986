import type { Command } from 'commander'
import { upperFirst } from '#lib/base/letter-case.ts'
import { createProgram } from '../../apps/cli/program.ts'

/** Flags of every command that calls the back office; the page explains them once. */
const COMMON = [
  'json',
  'jsonl',
  'minor',
  'explain',
  'url',
  'token',
  'profile',
  'timeout',
  'reason',
  'limit',
  'watch',
  'csv',
]

/** The section of each noun and command, from the table that also makes the help and the completion. */
export async function commandLineReference(): Promise<string> {
  const silent = { write: () => undefined }
  const terminal = { variables: {}, directory: '', stdin: process.stdin, stdout: silent, stderr: silent }
  const program = await createProgram([], terminal, true)
  return program.commands.map(sectionOf).join('\n\n')
}

function sectionOf(command: Command): string {
  const name = command.name()
  const lines =
    command.commands.length === 0
      ? [usageOf(command, name)]
      : command.commands.map((verb) => usageOf(verb, `${name} ${verb.name()}`, verb.description()))
  return `### ${name}\n\n${sentence(command.description())}\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``
}

/** How a command is written and what it does, with its own flags below. */
function usageOf(command: Command, path: string, about = ''): string {
  const places = command.registeredArguments.map((one) => one.name())
  const usage = row(`multihub ${[path, ...places].join(' ')}`, about)
  // Where a request has a url, the address of the back office has another flag.
  const isOwnUrl = (flag: string): boolean =>
    flag === 'url' && command.options.some((option) => option.name() === 'backoffice-url')
  const flags = command.options
    .filter((option) => !option.hidden && (!COMMON.includes(option.name()) || isOwnUrl(option.name())))
    .map(({ flags, description }) => row(`  ${flags}`, description))
  return [usage, ...flags].join('\n')
}

function row(left: string, right: string): string {
  return right === '' ? left : `${left.padEnd(42)}  ${right}`
}

function sentence(text: string): string {
  return `${upperFirst(text)}.`
}
