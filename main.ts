import { ROLES } from '#lib/role/role.ts'
import { parseRoleNames, startRoles } from './app/roles.ts'
import { type Command, type CommandOutput, runCommand, runProcess } from './app/run.ts'
import { archive } from './operations/archive/archive.ts'
import { backUp } from './operations/backup/backup.ts'
import { restore } from './operations/backup/restore.ts'
import { diagnose } from './operations/doctor/doctor.ts'
import { migrate } from './operations/migrate.ts'
import { reseal } from './operations/reseal.ts'
import { verify } from './operations/verify.ts'

/** The commands by the first word, with the words that may follow it. All other words name roles to run. */
const COMMANDS: Readonly<Record<string, { words: string; purpose: string; run: Command }>> = {
  migrate: {
    words: '[--drop-retired] [--place]',
    purpose: 'creates what the MongoDB databases lack, before the first start and each new version',
    run: migrate,
  },
  doctor: {
    words: '[--json] [ROLE...]',
    purpose: 'looks for what would keep the roles from working (all of them by default)',
    run: diagnose,
  },
  backup: {
    words: '[--recipient KEY|none] [--prune] DIRECTORY',
    purpose:
      'writes all databases to files; --recipient encrypts them to a public key of age, --prune deletes old backups',
    run: backUp,
  },
  restore: {
    words: '--erasures FILE|none [--identity FILE] [--incomplete] [--verify] DIRECTORY',
    purpose: 'fills empty databases from a backup, and with --verify checks the result',
    run: restore,
  },
  verify: {
    words: '[--heads FILE]',
    purpose: 'checks that the databases are complete and agree',
    run: verify,
  },
  reseal: {
    words: '[--to ID]',
    purpose: 'encrypts stored secrets again under the active master key',
    run: reseal,
  },
  archive: {
    words: '--before DATE|--check|--restore DIRECTORY',
    purpose:
      'moves the bodies of old payments and ledger batches to files, checks the files, or puts the bodies back',
    run: archive,
  },
  '--help': {
    words: '',
    purpose: 'prints this text',
    run: async (_words, _variables, output) => help(output),
  },
}

/** Names the roles and the commands, as `main.ts --help` prints them. */
function help({ printLine }: CommandOutput): void {
  printLine(`main.ts ROLE...   runs roles in this process: one or more of ${ROLES.join(', ')}, or all`)
  for (const [name, { words, purpose }] of Object.entries(COMMANDS))
    printLine(`${['main.ts', name, words].join(' ').trimEnd()}   ${purpose}`)
}

/** Runs a command, or the roles named on the command line: `main.ts payments`, `main.ts all`. */
const [first = '', ...rest] = process.argv.slice(2)
const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
if (command !== undefined) {
  runCommand((output) => command.run(rest, process.env, output))
} else {
  runProcess(async (lifecycle) => {
    const names = parseRoleNames(process.argv.slice(2))
    const { urls } = await startRoles(names, process.env, lifecycle, { schema: 'verify' })
    return urls
  })
}
