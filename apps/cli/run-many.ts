import { create, type DescMessage, type DescService, type Message } from '@bufbuild/protobuf'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { now, sleep } from '#lib/base/time.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { UNCLEAR_CODES } from '#lib/contract/unclear-codes.ts'
import { RpcError } from './call/connect-protocol.ts'
import { openConnection } from './call/connection.ts'
import { type CursorFile, openCursorFile } from './call/cursor-file.ts'
import { findAccount } from './call/profile.ts'
import { sayingHowToRepeat } from './call/repeating.ts'
import type { Verb } from './nouns/noun.ts'
import { printJson, resourceOf, rowsField } from './output/print.ts'
import { camel, demandFilter, hasReasonField, requestOf } from './request/flags.ts'
import { allRows, type Flags, methodOf, type VerbCall } from './run-list.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** The most things of one command: more need filters. */
const ROWS_MAX = 10_000
const POLL_MS = 500
/** After this many things a line says how far the command is, where it cannot be written over. */
const LINE_EVERY = 100

/** After these refusals each further one would be the same. */
const HOPELESS: ReadonlySet<string> = new Set(['unauthenticated', 'permission_denied', 'resource_exhausted'])

/** Where a command without an ID remembers the work that it has begun, until that has ended. */
function unfinished(service: DescService, verb: Verb, flags: Flags, terminal: Terminal): CursorFile {
  const { url } = findAccount(flags, terminal)
  const {
    dryRun,
    yes,
    json,
    jsonl,
    minor,
    explain,
    timeout,
    token,
    profile,
    url: _url,
    operationId,
    ...content
  } = flags
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
 * Starts the RPC that does many at once, and follows it to its end. A command that was killed meanwhile finds the work that it has
 * begun; work that has ended by then is done, and new work begins. A command that was killed before the answer asks for the same work under
 * its old operation id, so that it begins once. When that work has ended and was asked for more than 10 minutes ago, new work begins, and
 * the command says so. Returns the last answer.
 */
export async function runMany(
  call: VerbCall,
  many: NonNullable<Verb['many']>,
  request: Message,
): Promise<Message> {
  const { service, method, verb, flags, terminal } = call
  const file = unfinished(service, verb, flags, terminal)
  if (flags['dryRun']) return followMany(call, many, request, file)
  const run = () => followMany(call, many, request, file)
  const instead = () =>
    sentOf(file.read()) !== undefined
      ? 'it may have begun: the same command does it once, and follows it to its end'
      : 'the work goes on: the same command follows it to its end'
  return sayingHowToRepeat(method, request, terminal, run, instead)
}

/**
 * How long a repeated command means the same work, once that has ended. An answer that was lost is asked for again within minutes; a
 * person who comes later means what has failed since. A repeated rotation shows its secret for the same time (O12.6).
 */
const SAME_WORK_MS = 10 * 60_000

/** What the file has until the first answer. */
interface SentOperation {
  readonly asked_at: Date
  readonly operation_id: string
}

function sentOf(noted: string): SentOperation | undefined {
  const [, time, operation_id] = /^operation (\S+Z) (.+)$/s.exec(noted) ?? []
  return time && operation_id ? { asked_at: new Date(time), operation_id } : undefined
}

async function followMany(
  { connection, service, method, flags, terminal }: VerbCall,
  many: NonNullable<Verb['many']>,
  request: Message,
  file: CursorFile,
): Promise<Message> {
  const progress = methodOf(service, { rpc: many.progress })
  const read = (replayId: string) => connection.call(progress, create(progress.input, { replayId }))
  const is_dry = flags['dryRun'] !== undefined
  const noted = is_dry || flags['operationId'] !== undefined ? '' : file.read()
  const sent = sentOf(noted)
  const is_known = noted !== '' && sent === undefined
  let answer = is_known ? await read(noted).catch(nothingFor('not_found')) : undefined
  if (answer === undefined || workOf(answer)?.endTime !== undefined) {
    const begin = async ({ asked_at, operation_id }: SentOperation): Promise<Message> => {
      Reflect.set(request, 'operationId', operation_id)
      if (!is_dry) file.write(`operation ${asked_at.toISOString()} ${operation_id}`)
      return connection.call(method, request).catch((error: unknown) => {
        if (!is_dry && isClear(error)) file.clear()
        throw error
      })
    }
    const fresh = { asked_at: now(), operation_id: String(Reflect.get(request, 'operationId')) }
    answer = await begin(sent ?? fresh)
    if (sent !== undefined && workOf(answer)?.endTime !== undefined && isLongAgo(sent)) {
      const time = sent.asked_at.toISOString()
      terminal.stderr.write(`what this command asked for at ${time} has ended; it is begun anew\n`)
      answer = await begin(fresh)
    }
  }
  const shown = createProgress(terminal)
  for (let reads = 0; ; reads += 1) {
    const work = workOf(answer)
    if (work === undefined) return answer
    if (work.endTime !== undefined) break
    if (!is_dry) file.write(work.replayId)
    shown.show(`${work.matched} found, ${work.queued} queued`, reads % 10 === 0)
    await sleep(POLL_MS)
    answer = await read(work.replayId)
  }
  shown.end()
  // The file of a command that was killed stays: --yes goes on with its work.
  if (!is_dry) file.clear()
  return answer
}

function isLongAgo({ asked_at }: SentOperation): boolean {
  return now().getTime() - asked_at.getTime() > SAME_WORK_MS
}

interface Work {
  readonly replayId: string
  readonly matched: number
  readonly queued: number
  readonly endTime?: object
}

function workOf(answer: Message): Work | undefined {
  return Reflect.get(answer, 'replay')
}

function codeOf(error: unknown): string | undefined {
  return error instanceof CommandError && error.cause instanceof RpcError ? error.cause.code : undefined
}

/** Whether a call was refused, so that nothing was done. */
function isClear(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && !UNCLEAR_CODES.has(code)
}

/** Makes a refusal with this code nothing. */
function nothingFor(code: string) {
  return (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error
  }
}

/**
 * Does the same for each row of a list. What is done leaves the list, so a command that was killed is given again. A refused row does not
 * hold up the others, unless all others would be refused alike. As JSON it prints what it has changed, or with `--dry-run` what it would
 * change.
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
  if (!flags['dryRun']) demandFilter(verb, list, flags)
  const connection = openConnection(flags, terminal, { sends_reason: !hasReasonField(method) })
  const selecting = { name: verb.name, about: '', rpc: each.list, fixed: each.fixed }
  const call = { connection, service, method: list, verb: selecting, flags, terminal }
  const { rows, has_more } = await allRows(call, requestOf(list, selecting, undefined, flags), ROWS_MAX)
  const what = rowsField(list.output).name.replaceAll('_', ' ')
  if (has_more) terminal.stderr.write(`only the first ${ROWS_MAX} ${what}: repeat it for the others\n`)
  const is_json = flags.json === true || flags.jsonl === true
  const { stdout, stderr } = terminal
  if (flags['dryRun']) {
    const sums = sumsOf(rows, flags.minor === true)
    if (is_json) printJson(stdout, rowsField(list.output).message, rows, flags)
    else stdout.write(`${rows.length} ${what}${sums === '' ? '' : `: ${sums}`}; --yes does it\n`)
    return
  }
  const shown = createProgress(terminal)
  const changed: (readonly [DescMessage, Message])[] = []
  let refused = 0
  let lost = 0
  try {
    for (const row of rows) {
      const tried = changed.length + refused
      shown.show(`${tried} of ${rows.length}`, tried % LINE_EVERY === 0)
      const row_id = String(Reflect.get(row, camel(id)))
      const request = requestOf(method, verb, row_id, flags)
      try {
        const answer = await connection.call(method, request)
        changed.push(resourceOf(method.output, answer))
      } catch (error) {
        if (!(error instanceof CommandError) || error.exit_code !== 1) {
          lost = 1
          throw error
        }
        refused += 1
        stderr.write(`\n${row_id}: ${error.message}\n`)
        if (HOPELESS.has(codeOf(error) ?? '')) break
      }
    }
  } finally {
    shown.end()
    const left = rows.length - changed.length - refused - lost
    const counts = { refused, 'without an answer': lost, 'not tried': left }
    const others = Object.entries(counts).map(([name, count]) => (count === 0 ? '' : `, ${count} ${name}`))
    // What was done is known also when the rest of it is not.
    if (is_json) {
      const resources = changed.map(([, resource]) => resource)
      printJson(stdout, changed[0]?.[0] ?? method.output, resources, flags)
    }
    ;(is_json ? stderr : stdout).write(`${changed.length} ${what} done${others.join('')}\n`)
  }
  if (refused > 0) throw new CommandError(1, 'not all were done')
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
