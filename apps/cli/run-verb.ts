import type { DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { sleep } from '#lib/base/time.ts'
import { type Connection, connect } from './call/connection.ts'
import { findAccount } from './call/profile.ts'
import type { Verb } from './nouns/noun.ts'
import { jsonOf, printCsv, printResource, printTable, resourceOf, rowsField } from './output/print.ts'
import { fieldValue } from './output/values.ts'
import type { CommonFlags } from './request/common-flags.ts'
import { demandId, hasReasonField, manyRequestOf, requestOf } from './request/flags.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** The flags of a list besides those of its fields. */
export interface ListFlags {
  readonly limit?: string
  readonly watch?: boolean
  readonly csv?: boolean
}

type Flags = CommonFlags & ListFlags & Readonly<Record<string, string | boolean | undefined>>

interface Call {
  readonly connection: Connection
  readonly service: DescService
  readonly method: DescMethodUnary
  readonly verb: Verb
  readonly flags: Flags
  readonly terminal: Terminal
}

const LIMIT_DEFAULT = 100
const PAGE_MAX = 100
const WATCH_MS = 2_000

/** Runs one command: makes the request of the flags, calls the RPC, prints the answer. Throws `CommandError`. */
export async function runVerb(
  verb: Verb,
  service: DescService,
  id: string | undefined,
  flags: Flags,
  terminal: Terminal,
): Promise<void> {
  const is_many = verb.many !== undefined && id === undefined
  const method = methodOf(service, is_many ? verb.many : verb)
  if (!is_many) demandId(verb, id)
  const request = is_many ? manyRequestOf(method, verb, flags) : requestOf(method, verb, id, flags)
  const connection = connect(findAccount(flags, terminal), hasReasonField(method) ? undefined : flags.reason)
  const call = { connection, service, method, verb, flags, terminal }
  if (verb.columns !== undefined) return runList(call, verb.columns, request)
  const answer = await connection.call(service, method, request)
  const [desc, resource] = resourceOf(method.output, answer)
  if (flags.json) terminal.stdout.write(`${jsonOf(desc, resource, 2)}\n`)
  else if (flags.jsonl) terminal.stdout.write(`${jsonOf(desc, resource)}\n`)
  else printResource(terminal.stdout, desc, resource, { is_minor: flags.minor === true })
}

/** The unary method of a verb. */
export function methodOf(service: DescService, { rpc }: Pick<Verb, 'rpc'>): DescMethodUnary {
  const method = service.method[rpc]
  if (method?.methodKind !== 'unary') throw new TypeError(`${service.typeName} has no ${rpc}`)
  return method as DescMethodUnary
}

async function runList(call: Call, columns: readonly string[], request: Message): Promise<void> {
  const { flags, terminal, method } = call
  const limit = readLimit(flags.limit)
  const { message: row } = rowsField(method.output)
  const form = { is_minor: flags.minor === true }
  const { stdout } = terminal
  if (flags.watch) return watch(call, columns, request, limit)
  if (flags.jsonl) {
    for await (const rows of pagesOf(call, request, limit))
      for (const one of rows) stdout.write(`${jsonOf(row, one)}\n`)
    return
  }
  if (flags.csv) {
    let is_first = true
    for await (const rows of pagesOf(call, request, limit)) {
      printCsv(stdout, row, rows, columns, form, is_first)
      is_first = false
    }
    return
  }
  const rows = await allRows(call, request, limit)
  if (flags.json) {
    stdout.write(`[${rows.map((one) => jsonOf(row, one)).join(',\n')}]\n`)
    return
  }
  printTable(stdout, row, rows, columns, form)
  if (rows.length === limit) terminal.stderr.write(`the first ${limit}; --limit shows more\n`)
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT
  const limit = text === 'all' ? Number.MAX_SAFE_INTEGER : Number(text)
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new CommandError(2, '--limit takes a number from 1, or all')
  return limit
}

/** The rows of a list, page after page, until there are `limit`. */
async function* pagesOf(
  { connection, service, method }: Call,
  request: Message,
  limit: number,
): AsyncGenerator<readonly Message[]> {
  const rows_field = rowsField(method.output)
  const is_paged = method.input.fields.some(({ name }) => name === 'page_token')
  let left = limit
  let page_token = ''
  do {
    if (is_paged) {
      Reflect.set(request, 'pageSize', Math.min(left, PAGE_MAX))
      Reflect.set(request, 'pageToken', page_token)
    }
    const answer = await connection.call(service, method, request)
    const rows = (fieldValue(answer, rows_field) as readonly Message[]).slice(0, left)
    left -= rows.length
    yield rows
    page_token = is_paged ? String(Reflect.get(answer, 'nextPageToken') ?? '') : ''
  } while (page_token !== '' && left > 0)
}

async function allRows(call: Call, request: Message, limit: number): Promise<readonly Message[]> {
  const rows: Message[] = []
  for await (const page of pagesOf(call, request, limit)) rows.push(...page)
  return rows
}

/** Shows a list again every two seconds. As JSON lines, each row is printed when it is new or has changed. */
async function watch(call: Call, columns: readonly string[], request: Message, limit: number): Promise<void> {
  const { flags, method, terminal } = call
  const { stdout } = terminal
  const { message: row } = rowsField(method.output)
  let seen = new Set<string>()
  for (;;) {
    const rows = await allRows(call, request, limit)
    if (flags.jsonl || flags.json) {
      const now = rows.map((one) => jsonOf(row, one))
      for (const line of now.toReversed()) if (!seen.has(line)) stdout.write(`${line}\n`)
      seen = new Set(now)
    } else {
      if (stdout.isTTY) stdout.write('\u001b[2J\u001b[H')
      printTable(stdout, row, rows, columns, { is_minor: flags.minor === true })
    }
    await sleep(WATCH_MS)
  }
}
