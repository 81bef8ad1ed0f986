import { endSession } from '../call/device-sign-in.ts'
import { readProfile, removeProfile } from '../call/profile.ts'
import { OWN_NAME } from '../output/own-name.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

/** The beginning of a session, which ends at the back office too. */
const SESSION_PREFIX = 'mhs_'

interface LogoutFlags {
  readonly profile: string
  readonly local?: boolean
}

/** `multihub logout`: ends the session of a person who has signed in with OpenID Connect, and then forgets the profile. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .option('--profile <name>', 'the name of the profile', 'default')
    .option('--local', 'only forget the profile: a session goes on until its time is over')
    .action(async ({ profile, local }: LogoutFlags) => {
      const account = readProfile(profile, terminal)
      if (account === undefined) throw new CommandError(1, `there is no profile ${profile}`)
      const { url, token } = account
      const is_session = token.startsWith(SESSION_PREFIX)
      if (is_session && !local) await endSession(url, token).catch(sayingWhatToDo(profile))
      removeProfile(profile, terminal)
      terminal.stdout.write(`forgot the profile ${profile} of ${url}\n`)
      if (!is_session)
        terminal.stderr.write(
          `its token still counts: an administrator ends it with "${OWN_NAME} principals rotate ID"\n`,
        )
    })
}

/** Fails with the same problem, and with what the person can do. The profile stays, so that the command can be repeated. */
function sayingWhatToDo(profile: string) {
  return (error: unknown): never => {
    if (!(error instanceof CommandError)) throw error
    const what = `the session and the profile ${profile} are still there: run it again, or with --local to forget the profile alone`
    throw new CommandError(error.exit_code, `${error.message}\n${what}`, { cause: error })
  }
}
