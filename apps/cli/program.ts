import { Command, CommanderError } from 'commander'
import { cleanText } from '#lib/contract/clean-text.ts'
import { COMMANDS } from './commands.ts'
import type { Noun, Verb } from './nouns/noun.ts'
import { NOUNS } from './nouns.ts'
import { withColours } from './output/colour.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** What `--version` prints is read only when it is asked for. */
async function readVersion(): Promise<string> {
  return (await import('#lib/base/build-info.ts')).readBuildInfo().version
}

/** Runs the command line. Returns the exit code: 0 done, 1 refused, 2 wrong usage, 3 unreachable. Never throws. */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    if (words[0] === '--version' || words[0] === '-V') {
      terminal.stdout.write(`${await readVersion()}\n`)
      return 0
    }
    const program = await createProgram(words, { ...terminal, stdout: withColours(terminal) })
    await program.parseAsync([...words], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof CommandError) {
      terminal.stderr.write(`${error.message}\n`)
      if (words.includes('--explain') && error.error_code !== undefined)
        (await import('./output/explain-codes.ts')).explainCodes(terminal.stderr, [error.error_code])
      return error.exit_code
    }
    terminal.stderr.write(
      `the command failed: ${cleanText(error instanceof Error ? error.message : String(error))}\n`,
    )
    return 1
  }
}

/**
 * The program with all nouns. Only the commands of the noun in use are loaded, and of its commands only the RPC in use; `everything`
 * loads all of them, for completion and the reference page.
 */
export async function createProgram(
  words: readonly string[],
  terminal: Terminal,
  everything = false,
): Promise<Command> {
  const program = newCommand('multihub', terminal)
    .description('The command line of Multihub: for the operator, and for developers of merchants.')
    .usage('NOUN VERB [ID] [--flags]')
    .addHelpText('after', '\nExit codes: 0 done, 1 refused, 2 wrong usage, 3 unreachable.')
  for (const { name, about, load } of NOUNS) {
    const command = newCommand(name, terminal).description(about)
    if (everything || words[0] === name)
      await addVerbs(command, (await load()).noun, everything ? undefined : (words[1] ?? ''), terminal)
    program.addCommand(command)
  }
  for (const { name, about, load } of COMMANDS) {
    const command = newCommand(name, terminal).description(about)
    if (everything || words[0] === name)
      (await load()).declare(command, terminal, () => createProgram([], terminal, true))
    program.addCommand(command)
  }
  return program
}

function newCommand(name: string, { stdout, stderr }: Terminal): Command {
  return new Command(name)
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? 100,
    })
}

async function addVerbs(
  command: Command,
  noun: Noun,
  chosen: string | undefined,
  terminal: Terminal,
): Promise<void> {
  for (const verb of noun.verbs) {
    const one = newCommand(verb.name, terminal).description(verb.about)
    const id = verb.id ?? verb.finds
    if (id !== undefined) one.argument('[ID]', `the ${id.replaceAll('_', ' ')}`)
    if (chosen === undefined || verb.name === chosen) await addFlags(one, noun, verb, terminal)
    command.addCommand(one)
  }
}

async function addFlags(command: Command, noun: Noun, verb: Verb, terminal: Terminal): Promise<void> {
  const [
    service,
    { addEachFlags, addFieldFlags, addManyFlags },
    { addCommonFlags },
    { runVerb },
    { methodOf },
  ] = await Promise.all([
    (verb.service ?? noun.service)(),
    import('./request/flags.ts'),
    import('./request/common-flags.ts'),
    import('./run-verb.ts'),
    import('./run-list.ts'),
  ])
  const method = methodOf(service, verb)
  addFieldFlags(command, method, verb)
  if (verb.uploads !== undefined)
    command
      .option('--file <path>', 'the file to upload')
      .option('--operation-id <text>', 'uploads of the same file under another id are another file')
  const explaining = noun.verbs.find(({ name }) => name === verb.explained_by)
  const explaining_service = explaining && (await (explaining.service ?? noun.service)())
  if (explaining !== undefined && explaining_service !== undefined)
    addFieldFlags(command, methodOf(explaining_service, explaining), explaining)
  if (verb.previewed_by !== undefined) command.option('--dry-run', 'only say what it would do')
  if (verb.many !== undefined) addManyFlags(command, methodOf(service, verb.many), verb)
  if (verb.each !== undefined) addEachFlags(command, methodOf(service, { rpc: verb.each.list }), verb)
  if (verb.columns !== undefined)
    command
      .option('--limit <number>', 'how many rows, or all (default: 100)')
      .option('--watch', 'show it again every 2 s')
      .option('--csv', 'print CSV')
  if (method.input.fields.every(({ name }) => name !== 'reason'))
    command.option('--reason <text>', 'why; it goes into the audit trail')
  if (verb.confirms !== undefined) command.option('--yes', 'do it without asking')
  addCommonFlags(command)
  command.action(async (...given: unknown[]) => {
    const id = (verb.id ?? verb.finds) === undefined ? undefined : (given[0] as string | undefined)
    const flags = command.opts()
    if (flags['explain'] && explaining !== undefined && explaining_service !== undefined)
      await runVerb(explaining, explaining_service, id, flags, terminal)
    else if (flags['dryRun'] && verb.previewed_by !== undefined)
      await runVerb({ ...verb, rpc: verb.previewed_by }, service, id, flags, terminal)
    else await runVerb(verb, service, id, flags, terminal)
  })
}
