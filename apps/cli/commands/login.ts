import { create } from '@bufbuild/protobuf'
import {
  PrincipalService,
  WhoAmIRequestSchema,
  type WhoAmIResponse,
} from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { connect } from '../call/connection.ts'
import { findAccount, writeProfile } from '../call/profile.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

/** `multihub login`: checks the token at the back office, and keeps both as a profile. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .option('--url <url>', 'the back office')
    .option('--token <token>', 'your token; without it, it is read from standard input')
    .option('--profile <name>', 'the name of the profile', 'default')
    .action(async ({ url, token, profile }: { url?: string; token?: string; profile: string }) => {
      const address = url ?? terminal.variables['MULTIHUB_URL']
      if (address === undefined)
        throw new CommandError(2, 'login needs --url, the address of the back office')
      const account = findAccount(
        { url: address, token: token ?? (await readToken(terminal.stdin, terminal)) },
        terminal,
      )
      const connection = connect(account, undefined)
      const answer = await connection.call(
        PrincipalService,
        PrincipalService.method.whoAmI,
        create(WhoAmIRequestSchema),
      )
      const { principal } = answer as WhoAmIResponse
      writeProfile(profile, account, terminal)
      terminal.stdout.write(
        `signed in at ${account.url} as ${principal?.name} (${principal?.rights.join(', ')})\n`,
      )
    })
}

/** Reads the token as one line. On a terminal it is not shown. */
async function readToken(
  input: NodeJS.ReadStream,
  { stderr }: { readonly stderr: { write(text: string): unknown } },
): Promise<string> {
  if (!input.isTTY) {
    let text = ''
    for await (const chunk of input) text += String(chunk)
    return text.trim()
  }
  stderr.write('Token: ')
  input.setRawMode(true)
  try {
    let text = ''
    for await (const chunk of input) {
      for (const letter of String(chunk)) {
        if (letter === '\r' || letter === '\n') return text.trim()
        if (letter === '\u0003') throw new CommandError(2, 'no token was given')
        text = letter === '\u007f' ? text.slice(0, -1) : text + letter
      }
    }
    return text.trim()
  } finally {
    input.setRawMode(false)
    stderr.write('\n')
  }
}
