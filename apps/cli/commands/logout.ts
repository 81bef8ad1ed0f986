import { endSession } from '../call/device-sign-in.ts'
import { removeProfile } from '../call/profile.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

/** The beginning of a session, which ends at the back office too. */
const SESSION_PREFIX = 'mhs_'

/** `multihub logout`: forgets a profile, and ends the session of a person who has signed in with OpenID Connect. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .option('--profile <name>', 'the name of the profile', 'default')
    .action(async ({ profile }: { readonly profile: string }) => {
      const account = removeProfile(profile, terminal)
      if (account === undefined) throw new CommandError(1, `there is no profile ${profile}`)
      terminal.stdout.write(`forgot the profile ${profile} of ${account.url}\n`)
      if (account.token.startsWith(SESSION_PREFIX)) await endSession(account.url, account.token)
      else
        terminal.stderr.write(
          'its token still counts: an administrator ends it with "multihub principals rotate ID"\n',
        )
    })
}
