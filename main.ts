import { type CommandOutput, runCommand, runProcess } from '#lib/platform/process/run.ts'
import { backUp } from './backup.ts'
import { diagnose } from './doctor.ts'
import { migrate } from './migrate.ts'
import { reseal } from './reseal.ts'
import { restore } from './restore.ts'
import { parseRoleNames, startRoles } from './roles.ts'
import { verify } from './verify.ts'

/** The commands that end by themselves, by the first word. All other words name roles to run. */
const COMMANDS: Readonly<
  Record<
    string,
    (words: readonly string[], variables: NodeJS.ProcessEnv, output: CommandOutput) => Promise<void>
  >
> = { migrate, doctor: diagnose, backup: backUp, restore, verify, reseal }

/**
 * Runs the roles named on the command line in this process: `node main.ts payments`, `node main.ts all`. `node main.ts
 * migrate` completes their MongoDB databases instead, which comes before the first start and before every new version;
 * `doctor [ROLE...]` looks for what would keep roles from starting; `backup DIRECTORY` writes all databases to files,
 * `restore [--verify] DIRECTORY` fills empty ones from them, and `verify` checks that they agree; `reseal` encrypts
 * stored secrets again under the newest master key.
 */
const [first = '', ...rest] = process.argv.slice(2)
const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
if (command !== undefined) {
  runCommand((output) => command(rest, process.env, output))
} else {
  runProcess(async (lifecycle) => {
    const names = parseRoleNames(process.argv.slice(2))
    const { urls } = await startRoles(names, process.env, lifecycle, { schema: 'verify' })
    return urls
  })
}
