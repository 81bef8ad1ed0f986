import type { DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { sleep } from '#lib/base/time.ts'
import { fieldValue } from '#lib/contract/shown-values.ts'
import type { Connection } from './call/connection.ts'
import type { Verb } from './nouns/noun.ts'
import { jsonOf, printCsv, printJson, printResource, printTable, rowsField } from './output/print.ts'
import type { CommonFlags } from './request/common-flags.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** The flags of a list that are not fields of its request. */
interface ListFlags {
  readonly limit?: string
  readonly watch?: boolean
  readonly csv?: boolean
}

/** All flags of a command. */
export type Flags = CommonFlags & ListFlags & Readonly<Record<string, string | boolean | undefined>>

/** One command with what it needs to call its RPC. */
export interface VerbCall {
  readonly connection: Connection
  readonly service: DescService
  readonly method: DescMethodUnary
  readonly verb: Verb
  readonly flags: Flags
  readonly terminal: Terminal
}

/** The unary method of a verb. */
export function methodOf(service: DescService, { rpc }: Pick<Verb, 'rpc'>): DescMethodUnary {
  const method = service.method[rpc]
  if (method?.methodKind !== 'unary') throw new TypeError(`${service.typeName} has no ${rpc}`)
  return method as DescMethodUnary
}

const LIMIT_DEFAULT = 100
const PAGE_MAX = 1_000
const WATCH_MS = 2_000

/** A resource that no RPC reads alone is looked for in this many rows of its list. */
const FIND_MAX = 10_000

/** Prints a list: as a table for people, JSON, JSON lines or CSV; with `--watch` again and again. */
export async function runList(call: VerbCall, columns: readonly string[], request: Message): Promise<void> {
  const { flags, terminal, method, verb } = call
  const limit = readLimit(flags.limit)
  const { message: row } = rowsField(method.output)
  const form = { is_minor: flags.minor === true }
  const { stdout } = terminal
  if (flags.watch) return watch(call, columns, request, limit)
  let is_cut = false
  if (flags.jsonl || flags.csv) {
    let is_first = true
    for await (const { rows, has_more } of pagesOf(call, request, limit)) {
      if (flags.jsonl) printJson(stdout, row, rows, flags)
      else printCsv(stdout, row, rows, verb.csv_columns ?? columns, form, is_first)
      is_first = false
      is_cut = has_more
    }
  } else {
    const { rows, has_more } = await allRows(call, request, limit)
    if (flags.json) printJson(stdout, row, rows, flags)
    else await printRows(call, columns, rows)
    is_cut = has_more
  }
  if (is_cut) terminal.stderr.write(`the first ${limit}; --limit shows more\n`)
}

/** Prints the one row of a list that has this id. Throws `CommandError` 1 without it. */
export async function findRow(
  call: VerbCall,
  field_name: string,
  id: string,
  request: Message,
): Promise<void> {
  const { flags, terminal, method } = call
  const { message: row } = rowsField(method.output)
  const field = row.fields.find(({ name }) => name === field_name)
  if (field === undefined) throw new TypeError(`a row of ${row.typeName} has no ${field_name}`)
  for await (const { rows } of pagesOf(call, request, FIND_MAX)) {
    const found = rows.find((one) => String(fieldValue(one, field)) === id)
    if (found === undefined) continue
    if (flags.json || flags.jsonl)
      terminal.stdout.write(`${jsonOf(row, found, flags.json ? 2 : undefined)}\n`)
    else printResource(terminal.stdout, row, found, { is_minor: flags.minor === true })
    return
  }
  throw new CommandError(1, `there is no ${field_name.replaceAll('_', ' ')} ${id}`)
}

async function printRows(
  { method, verb, flags, terminal }: VerbCall,
  columns: readonly string[],
  rows: readonly Message[],
): Promise<void> {
  const { stdout } = terminal
  const { message: row, name } = rowsField(method.output)
  const what = name.replaceAll('_', ' ')
  if (rows.length > 0 || stdout.isTTY !== true)
    printTable(stdout, row, rows, columns, { is_minor: flags.minor === true })
  if (rows.length === 0) terminal.stderr.write(`no ${what}\n`)
  else if (stdout.isTTY === true && verb.next !== undefined) stdout.write(`\nnext: multihub ${verb.next}\n`)
  if (flags.explain) {
    const { codesIn, explainCodes } = await import('./output/explain-codes.ts')
    explainCodes(stdout, new Set(rows.flatMap((one) => codesIn(row, one))))
  }
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT
  const limit = text === 'all' ? Number.MAX_SAFE_INTEGER : Number(text)
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new CommandError(2, '--limit takes a number from 1, or all')
  return limit
}

/** Rows of a list, and whether the list has more after them. */
interface Page {
  readonly rows: readonly Message[]
  readonly has_more: boolean
}

/** The rows of a list, page after page, until there are `limit`. */
export async function* pagesOf(
  { connection, method }: VerbCall,
  request: Message,
  limit: number,
): AsyncGenerator<Page> {
  const rows_field = rowsField(method.output)
  const is_paged = method.input.fields.some(({ name }) => name === 'page_token')
  let left = limit
  let page_token = ''
  do {
    if (is_paged) {
      Reflect.set(request, 'pageSize', Math.min(left, PAGE_MAX))
      Reflect.set(request, 'pageToken', page_token)
    }
    const answer = await connection.call(method, request)
    const all = fieldValue(answer, rows_field) as readonly Message[]
    const rows = all.slice(0, left)
    left -= rows.length
    page_token = is_paged ? String(Reflect.get(answer, 'nextPageToken') ?? '') : ''
    yield { rows, has_more: page_token !== '' || all.length > rows.length }
  } while (page_token !== '' && left > 0)
}

/** All rows of a list up to `limit`. */
export async function allRows(call: VerbCall, request: Message, limit: number): Promise<Page> {
  const rows: Message[] = []
  let has_more = false
  for await (const page of pagesOf(call, request, limit)) {
    rows.push(...page.rows)
    has_more = page.has_more
  }
  return { rows, has_more }
}

/**
 * Shows a list again every two seconds. As JSON lines, each row is printed when it is new or has changed. Once it has been shown, a back
 * office that does not answer for a while does not end it.
 */
async function watch(
  call: VerbCall,
  columns: readonly string[],
  request: Message,
  limit: number,
): Promise<void> {
  const { flags, method, terminal } = call
  const { stdout, stderr } = terminal
  const { message: row } = rowsField(method.output)
  let seen = new Set<string>()
  let was_shown = false
  let is_away = false
  for (; ; await sleep(WATCH_MS)) {
    const page = await allRows(call, request, limit).catch((error: unknown) => {
      const can_come_back = error instanceof CommandError && error.exit_code === 3 && was_shown
      if (!can_come_back) throw error
      if (!is_away) stderr.write(`${error.message}; trying again\n`)
      is_away = true
    })
    if (page === undefined) continue
    const { rows } = page
    if (is_away) stderr.write('connected again\n')
    is_away = false
    was_shown = true
    if (flags.jsonl || flags.json) {
      const now = rows.map((one) => jsonOf(row, one))
      for (const line of now.toReversed()) if (!seen.has(line)) stdout.write(`${line}\n`)
      seen = new Set(now)
    } else {
      if (stdout.isTTY) stdout.write('\u001b[2J\u001b[H')
      await printRows(call, columns, rows)
    }
  }
}
