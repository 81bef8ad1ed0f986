import type { Command } from 'commander'

/** The flags of every command that calls the back office. No field of a request has one of these names, except `url`. */
export interface CommonFlags {
  readonly url?: string
  readonly token?: string
  readonly profile?: string
  readonly json?: boolean
  readonly jsonl?: boolean
  readonly minor?: boolean
  readonly reason?: string
  readonly explain?: boolean
  readonly timeout?: string
}

/** Adds the flags of every command that calls the back office. */
export function addCommonFlags(command: Command): void {
  // An endpoint has a url of its own.
  const address = command.options.some(({ long }) => long === '--url') ? '--backoffice-url' : '--url'
  command
    .option('--json', 'print one JSON document')
    .option('--jsonl', 'print one JSON document per line')
    .option('--minor', 'give and show amounts in minor units')
    .option('--explain', 'say what the codes of refusals mean')
    .option(`${address} <url>`, 'the back office (MULTIHUB_URL)')
    .option('--token <token>', 'your token (MULTIHUB_TOKEN)')
    .option('--profile <name>', 'the profile of "multihub login" (MULTIHUB_PROFILE)')
    .option('--timeout <seconds>', 'how long to wait for an answer (default: 30)')
}
