import { create } from '@bufbuild/protobuf'
import { PrincipalService, WhoAmIRequestSchema } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { SearchRequestSchema, SearchService } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import { ReferenceSchema } from '#gen/multihub/common/v1/reference_pb.ts'
import { type Connection, openConnection } from '../call/connection.ts'
import { printJson, printTable } from '../output/print.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

const PAGE_SIZE = 100

/** `multihub search TEXT`: the things that a whole identifier names, and merchants by the beginning of their name. */
export const declare: DeclareCommand = (command, terminal) => {
  command.argument(
    '<TEXT>',
    'c_id, h_id, p_id, UTR, request id or another id; the beginning of a name of a merchant',
  )
  command.option('--reason <text>', 'why; a search that finds people goes into the audit trail')
  addCommonFlags(command)
  command.action(async (text: string, flags: CommonFlags) => {
    const connection = openConnection(flags, terminal, { argument: 'text' })
    const request = create(SearchRequestSchema, { text, pageSize: PAGE_SIZE })
    const answer = await connection.call(SearchService.method.search, request)
    const { stdout, stderr } = terminal
    const { references, unavailable, nextPageToken } = answer
    if (flags.json || flags.jsonl) printJson(stdout, ReferenceSchema, references, flags)
    else if (references.length > 0)
      printTable(stdout, ReferenceSchema, references, ['kind', 'id', 'title', 'merchant_id', 'time'], {
        is_minor: false,
      })
    for (const role of unavailable) stderr.write(`${role} could not be asked: what it knows is missing\n`)
    if (references.length === 0) throw await nothingFound(connection)
    if (nextPageToken !== '') stderr.write(`there are more than ${PAGE_SIZE}\n`)
  })
}

/** Says what was not searched: without the right to it, no e-mail, phone or account number is found. */
async function nothingFound(connection: Connection): Promise<CommandError> {
  const request = create(WhoAmIRequestSchema)
  const { principal } = await connection.call(PrincipalService.method.whoAmI, request)
  const left_out = principal?.rights.includes('reveal')
    ? ''
    : '; e-mails, phones and account numbers were not searched, because that needs the right reveal'
  return new CommandError(1, `nothing has this identifier${left_out}`)
}
