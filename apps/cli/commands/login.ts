import { create } from '@bufbuild/protobuf'
import { PrincipalService, WhoAmIRequestSchema } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { connect } from '../call/connection.ts'
import { signInByDevice } from '../call/device-sign-in.ts'
import { isInsecure } from '../call/insecure-address.ts'
import { acceptsInsecure, findAccount, writeProfile } from '../call/profile.ts'
import { askSecret, askText } from '../prompt.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

interface LoginFlags {
  readonly url?: string
  readonly token?: string
  readonly oidc?: boolean
  readonly insecure?: boolean
  readonly profile: string
}

/** `multihub login`: checks the token at the back office, or gets one by a device flow, and keeps both as a profile. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .option('--url <url>', 'the back office (MULTIHUB_URL)')
    .option('--token <token>', 'your token; without it, it is asked for, or read from standard input')
    .option('--oidc', 'sign in with OpenID Connect: a browser of any device confirms it')
    .option(
      '--insecure',
      'send the token over http to another machine, now and by this profile: others on the way can read it',
    )
    .option('--profile <name>', 'the name of the profile', 'default')
    .action(async (flags: LoginFlags) => {
      const url = (await addressOf(flags, terminal)).replace(/\/+$/, '')
      const token = flags.oidc ? await signInByDevice(url, terminal.stderr) : await tokenOf(flags, terminal)
      const account = findAccount({ url, token }, terminal)
      const { principal } = await connect(account).call(
        PrincipalService.method.whoAmI,
        create(WhoAmIRequestSchema),
      )
      writeProfile(flags.profile, { ...account, ...(isInsecure(url) && { insecure: true }) }, terminal)
      terminal.stdout.write(
        `signed in at ${account.url} as ${cleanText(principal?.name ?? '')} (${principal?.rights.join(', ')})\n`,
      )
    })
}

async function addressOf({ url, insecure }: LoginFlags, terminal: Terminal): Promise<string> {
  const address = url ?? terminal.variables['MULTIHUB_URL']
  if (address === undefined && terminal.stdin.isTTY !== true)
    throw new CommandError(2, 'login needs --url, the address of the back office')
  const text = address ?? (await askText('Address of the back office', terminal))
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new CommandError(2, '--url takes an address such as https://backoffice.example')
  if (isInsecure(text) && !insecure && !acceptsInsecure(terminal))
    throw new CommandError(
      2,
      `${text} is not encrypted, so others can read the token on its way: use https, or add --insecure`,
    )
  return text
}

/** The token of the flag, of a person at the terminal, who does not see it, or of one line of standard input. */
async function tokenOf({ token }: LoginFlags, terminal: Terminal): Promise<string> {
  if (token !== undefined) return token
  const { stdin } = terminal
  if (stdin.isTTY === true) return askSecret('Token', terminal)
  let text = ''
  for await (const chunk of stdin) text += String(chunk)
  return text.trim()
}
