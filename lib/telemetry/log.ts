import { isDate } from 'node:util/types'
import { currentRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { describeFault, maskText } from './faults.ts'
import { createLineLimit, type LimitedLine, type LineLimit } from './line-limit.ts'
import { counter } from './metrics.ts'
import { type LineWriter, standardError } from './writer.ts'

/**
 * Every field that a log line may carry. Other fields are dropped and counted. Add a field here only when it can never
 * hold a body, a secret, bank data or a person's name.
 */
// biome-ignore format: one name per line would hide the groups
export const LOG_FIELDS = [
  // the process and its surroundings
  'role', 'part', 'instance', 'version', 'pid', 'signal', 'host', 'port', 'url', 'path', 'variable', 'waiting',
  // the request
  'request_id', 'client_request_id', 'trace_id', 'method', 'route', 'http_status', 'code', 'caller', 'client_address',
  'rpc', 'rpc_code', 'application_id', 'api_version', 'scope', 'bucket',
  // the subject: our own ids, and the ids of payments in requests, never other texts of a merchant
  'merchant_id', 'environment', 'service_id', 'payment_id', 'c_id', 'h_id', 'ticket_id', 'refund_id', 'chargeback_id',
  'attachment_id', 'delivery_id', 'endpoint_id', 'destination_key', 'anomaly_id', 'operation', 'currency', 'status', 'from_status',
  // internals
  'event', 'kind', 'effect', 'transition', 'subject', 'queue', 'collection', 'index', 'database', 'shard', 'seq', 'hash', 'signature',
  'batch', 'lease', 'provider', 'provider_account', 'connector', 'reason', 'outcome', 'state', 'field',
  // amounts and times
  'attempt', 'tries', 'count', 'dropped', 'pending', 'limit', 'size_bytes', 'duration_ms', 'delay_ms', 'timeout_ms',
  'age_ms', 'lag_ms', 'due_at', 'seed',
] as const

/** The name of a permitted field. */
export type LogField = (typeof LOG_FIELDS)[number]

type Scalar = string | number | bigint | boolean | Date | null | undefined

/** The fields of one line: `LOG_FIELDS`, with plain values, and `error` for anything that was thrown. */
export type LogFields = { readonly [Name in LogField]?: Scalar | readonly Scalar[] } & {
  readonly error?: unknown
}

type LineFormatter = (entry: LogEntry) => string

interface LogEntry {
  readonly fields: LogFields
  readonly message: string
  readonly now_ms: number
  readonly request_id: string | undefined
  readonly trace_id: string | undefined
}

const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS)
const ITEMS_MAX = 20

const fields_dropped = counter('multihub_log_fields_dropped_total', 'Log fields that the allow-list refused.')

/**
 * Creates the formatter for one level and role. It builds the JSON itself, because every request writes a line and the
 * allow-list of fields is applied in the same pass.
 */
function createLineFormatter(level: string, role: string | undefined): LineFormatter {
  const start = `{"level":"${level}","time":"`
  const who = role === undefined ? '"' : `","role":${JSON.stringify(role)}`
  return ({ fields, message, now_ms, request_id, trace_id }) => {
    let line = `${start}${timeText(now_ms)}${who}`
    if (request_id !== undefined && fields.request_id === undefined)
      line += `,"request_id":${stringText(request_id)}`
    if (trace_id !== undefined) line += `,"trace_id":"${trace_id}"`
    for (const name in fields) {
      const value: unknown = fields[name as LogField]
      const text = value === undefined ? undefined : textOf(name, value)
      if (text !== undefined) line += `,"${name}":${text}`
    }
    return `${line},"message":${stringText(message)}}\n`
  }
}

let written_ms = Number.NaN
let written = ''

/** Keeps the text of the last millisecond, because many lines share it. */
function timeText(now_ms: number): string {
  if (now_ms !== written_ms) {
    written = new Date(now_ms).toISOString()
    written_ms = now_ms
  }
  return written
}

/** The JSON of one field's value; `undefined` when the field may not be shown. Permitted names need no escaping. */
function textOf(name: string, value: unknown): string | undefined {
  if (name === 'error') return JSON.stringify(describeFault(value))
  if (ALLOWED.has(name)) return Array.isArray(value) ? listText(value) : plainText(value)
  fields_dropped.increment({})
  return undefined
}

function listText(items: readonly unknown[]): string {
  return `[${items
    .slice(0, ITEMS_MAX)
    .map((item) => plainText(item) ?? 'null')
    .join(',')}]`
}

/** Matches most texts (ids and words) quickly: they need no masking, no cutting and no escaping. */
const PLAIN_TEXT = /^[\w .-]{0,200}$/

function stringText(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(maskText(text))
}

/** The JSON of a plain value. Objects are refused, so that no body gets into the log under a permitted name. */
function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return stringText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  if (typeof value === 'boolean' || value === null) return `${value}`
  if (typeof value === 'bigint') return `"${value}"`
  if (isDate(value)) return Number.isNaN(value.getTime()) ? '"invalid date"' : `"${value.toISOString()}"`
  fields_dropped.increment({})
  return undefined
}

/** The levels, the lowest first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The lowest level that is written; `silent` writes nothing. */
type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Writes one line of JSON per call, with the ids of the request and of its trace. `message` is a constant sentence and
 * never holds data.
 */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  /** For conditions that need a person. Pass a fault as the field `error`. */
  error(fields: LogFields, message: string): void
  /** The same log with a role in every line. */
  child(role: string): Log
}

/** How a log is made. */
interface LogOptions {
  readonly level?: LogLevel
  readonly writer?: LineWriter
  /** Whether repeated warnings and errors with the same cause are left out (`createLineLimit`); true unless given. */
  readonly is_limited?: boolean
}

/**
 * Creates a log. Lines go to standard error, because standard output belongs to the `ready` line. Writing does not block,
 * and buffered lines are written at exit. The level is MULTIHUB_LOG_LEVEL, otherwise `info`.
 */
export function createLog(role?: string, options: LogOptions = {}): Log {
  const level = options.level ?? levelOf(process.env)
  const writer = options.writer ?? (level === 'silent' ? { write: () => {} } : standardError())
  const is_limited = options.is_limited !== false && writer.takes_every_line !== true
  const withRole = (role: string | undefined): Log => {
    const methodOf = (line_level: Exclude<LogLevel, 'silent'>): Log['info'] => {
      if (LOG_LEVELS.indexOf(line_level) < LOG_LEVELS.indexOf(level)) return () => {}
      const format = createLineFormatter(line_level, role)
      const urgent_level = line_level === 'warn' || line_level === 'error' ? line_level : undefined
      return (fields, message) => {
        const line = urgent_level && is_limited ? { level: urgent_level, role, message, fields } : undefined
        if (line !== undefined && !limitOf(writer).admit(line)) return
        const request = currentRequest()
        const entry = {
          fields,
          message,
          now_ms: clock.now_ms(),
          request_id: request?.request_id,
          trace_id: request?.trace?.trace_id,
        }
        // A kill must not lose a warning or a fault. Other lines wait for more, see `LineWriter.later`.
        if (urgent_level || fields.error !== undefined || writer.later === undefined)
          writer.write(format(entry))
        else writer.later(() => format(entry))
      }
    }
    return {
      debug: methodOf('debug'),
      info: methodOf('info'),
      warn: methodOf('warn'),
      error: methodOf('error'),
      child: (name) => withRole(name),
    }
  }
  return withRole(role)
}

const limits = new WeakMap<LineWriter, LineLimit<LogFields>>()

/** The limit of all logs with the same writer. */
function limitOf(writer: LineWriter): LineLimit<LogFields> {
  const known = limits.get(writer)
  if (known !== undefined) return known
  const limit = createLineLimit<LogFields>((first, left_out) => reportLeftOut(writer, first, left_out))
  limits.set(writer, limit)
  writer.beforeExit?.(limit.end)
  return limit
}

/** Writes how many lines of one cause were left out. It shows the error of the first one, but no ids, which the others do not share. */
function reportLeftOut(
  writer: LineWriter,
  { level, role, message, fields }: LimitedLine<LogFields>,
  dropped: number,
): void {
  const { part, kind, rpc, provider_account, reason, error } = fields
  writer.write(
    createLineFormatter(
      level,
      role,
    )({
      fields: { role: fields.role, part, kind, rpc, provider_account, reason, dropped, error },
      message: `lines of this cause were left out: ${message}`,
      now_ms: clock.now_ms(),
      request_id: undefined,
      trace_id: undefined,
    }),
  )
}

/**
 * The level that MULTIHUB_LOG_LEVEL names. Without it, and for an unknown word, it is `info`: the log must also work while
 * the process reports that the word is wrong. No other variable silences the log.
 */
export function levelOf(variables: Readonly<Record<string, string | undefined>>): LogLevel {
  return LOG_LEVELS.find((level) => level === variables['MULTIHUB_LOG_LEVEL']?.trim()) ?? 'info'
}

/** The log of this process, for code that several roles share. */
export const log: Log = createLog()

/**
 * The log of lines that are never left out, however many come in a minute: each is about money that a person must settle, such as an
 * anomaly, or is a record that is read later. All other failures belong into `log`.
 */
export const unlimited_log: Log = createLog(undefined, { is_limited: false })
