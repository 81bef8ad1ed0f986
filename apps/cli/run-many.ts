import { create, type DescService, type Message } from '@bufbuild/protobuf'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { sleep } from '#lib/base/time.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { connect } from './call/connection.ts'
import { type CursorFile, openCursorFile } from './call/cursor-file.ts'
import { findAccount } from './call/profile.ts'
import type { Verb } from './nouns/noun.ts'
import { rowsField } from './output/print.ts'
import { hasReasonField, requestOf } from './request/flags.ts'
import { type Flags, methodOf, pagesOf, type VerbCall } from './run-list.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** The most things of one command: more need filters. */
const ROWS_MAX = 10_000
const POLL_MS = 500
/** After this many things a line says how far the command is, where it cannot be written over. */
const LINE_EVERY = 100

/** Where a command without an ID remembers itself until it has ended, so that the same command after a kill goes on. */
function unfinished(service: DescService, verb: Verb, flags: Flags, terminal: Terminal): CursorFile {
  const { url } = findAccount(flags, terminal)
  const { dryRun, yes, json, jsonl, minor, token, profile, url: _url, ...content } = flags
  return openCursorFile('unfinished', [url, service.typeName, verb.rpc, JSON.stringify(content)], terminal)
}

/** Tells people how far a command is: on a terminal in one line, elsewhere now and then. */
function createProgress({ stderr }: Terminal) {
  let shown = ''
  return {
    show(text: string, is_worth_a_line: boolean): void {
      if (text === shown) return
      if (stderr.isTTY) stderr.write(`\r\u001b[K${text}`)
      else if (is_worth_a_line) stderr.write(`${text}\n`)
      shown = text
    },
    end: (): void => void (stderr.isTTY && shown !== '' && stderr.write('\n')),
  }
}

/**
 * Starts the RPC that does many at once, and follows it to its end. A command that was killed meanwhile finds the work that it has begun.
 * Returns the last answer.
 */
export async function runMany(
  { connection, service, method, verb, flags, terminal }: VerbCall,
  many: NonNullable<Verb['many']>,
  request: Message,
): Promise<Message> {
  const file = unfinished(service, verb, flags, terminal)
  const progress = methodOf(service, { rpc: many.progress })
  const read = (replayId: string) => connection.call(service, progress, create(progress.input, { replayId }))
  const begun = flags['dryRun'] ? '' : file.read()
  let answer = await (begun === '' ? connection.call(service, method, request) : read(begun))
  const shown = createProgress(terminal)
  for (let reads = 0; ; reads += 1) {
    const work = Reflect.get(answer, 'replay') as Work | undefined
    if (work === undefined) return answer
    if (work.endTime !== undefined) break
    if (!flags['dryRun']) file.write(work.replayId)
    shown.show(`${work.matched} found, ${work.queued} queued`, reads % 10 === 0)
    await sleep(POLL_MS)
    answer = await read(work.replayId)
  }
  shown.end()
  file.clear()
  return answer
}

interface Work {
  readonly replayId: string
  readonly matched: number
  readonly queued: number
  readonly endTime?: object
}

/**
 * Does the same for each row of a list. Each act has an operation id that follows from the command and its row, so that a command that
 * was killed does nothing twice when it is given again. A refused row does not hold up the others.
 */
export async function runEach(
  verb: Verb,
  service: DescService,
  flags: Flags,
  terminal: Terminal,
): Promise<void> {
  const { each, id = '' } = verb
  if (each === undefined) throw new TypeError(`${verb.name} has no list`)
  const method = methodOf(service, verb)
  const list = methodOf(service, { rpc: each.list })
  const connection = connect(findAccount(flags, terminal), hasReasonField(method) ? undefined : flags.reason)
  const selecting = { name: verb.name, about: '', rpc: each.list, fixed: each.fixed }
  const call = { connection, service, method: list, verb: selecting, flags, terminal }
  const rows: Message[] = []
  for await (const page of pagesOf(call, requestOf(list, selecting, undefined, flags), ROWS_MAX))
    rows.push(...page)
  const what = rowsField(list.output).name.replaceAll('_', ' ')
  if (rows.length === ROWS_MAX)
    terminal.stderr.write(`only the first ${ROWS_MAX} ${what}: repeat it for the others\n`)
  if (flags['dryRun']) {
    const sums = sumsOf(rows, flags.minor === true)
    terminal.stdout.write(`${rows.length} ${what}${sums === '' ? '' : `: ${sums}`}; --yes does it\n`)
    return
  }
  const file = unfinished(service, verb, flags, terminal)
  const run_id = file.read() || uuidv7()
  file.write(run_id)
  const shown = createProgress(terminal)
  let refused = 0
  for (const [done, row] of rows.entries()) {
    shown.show(`${done} of ${rows.length}`, done % LINE_EVERY === 0)
    const row_id = String(Reflect.get(row, camel(id)))
    const operationId = sha256Hex(`${run_id}:${row_id}`).slice(0, 32)
    try {
      await connection.call(service, method, requestOf(method, verb, row_id, { ...flags, operationId }))
    } catch (error) {
      if (!(error instanceof CommandError) || error.exit_code !== 1) throw error
      refused += 1
      terminal.stderr.write(`\n${row_id}: ${error.message}\n`)
    }
  }
  shown.end()
  file.clear()
  terminal.stdout.write(
    `${rows.length - refused} ${what} done${refused === 0 ? '' : `, ${refused} refused`}\n`,
  )
  if (refused > 0) throw new CommandError(1, 'not all were done')
}

function camel(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** The sum of the rows' amounts in each currency; empty for rows without amounts. */
function sumsOf(rows: readonly Message[], is_minor: boolean): string {
  const sums = new Map<string, bigint>()
  for (const row of rows) {
    const amount = Reflect.get(row, 'amount') as Money | undefined
    if (amount !== undefined) sums.set(amount.currency, (sums.get(amount.currency) ?? 0n) + amount.minor)
  }
  return [...sums].map(([currency, minor]) => amountText(minor, currency, { is_minor })).join(', ')
}
