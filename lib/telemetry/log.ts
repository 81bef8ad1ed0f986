import { isDate } from 'node:util/types'
import { destination as openDestination, pino } from 'pino'
import { currentRequest } from '#lib/context.ts'
import { now } from '#lib/time.ts'
import { describeFault, maskText } from './faults.ts'
import { LOG_FIELDS, type LogField } from './fields.ts'
import { counter } from './metrics.ts'

type Scalar = string | number | bigint | boolean | Date | null | undefined

/** The fields of one line: those of `LOG_FIELDS`, with plain values, and `error` for anything that was thrown. */
export type LogFields = { readonly [Name in LogField]?: Scalar | readonly Scalar[] } & {
  readonly error?: unknown
}

/** How much is written, from everything to nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Writes one line of JSON a call; the request id is added to each. `message` is a fixed sentence, never data. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  /** For what needs a person. A fault goes in as `error`. */
  error(fields: LogFields, message: string): void
  /** The same log, whose lines name a role. */
  child(role: string): Log
}

const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS)
const ITEMS_MAX = 20

/** So many bytes may wait for a slow reader of the log; beyond it lines are dropped and counted. */
const BUFFER_MAX_BYTES = 8 * 1024 * 1024

const fieldsDropped = counter('multihub_log_fields_dropped_total', 'Log fields that the allow-list refused.')
const linesDropped = counter(
  'multihub_log_lines_dropped_total',
  'Log lines lost because their reader was too slow.',
)

/** Where lines go: given the text of a line with its newline. */
export interface LineWriter {
  write(line: string): void
}

/**
 * Makes a log. Lines go to standard error (standard output belongs to the `ready` line) without holding the process
 * up, and what still waits is written when it exits. The level is MULTIHUB_LOG_LEVEL, else `info`, and none in tests.
 */
export function createLog(role?: string, options: { level?: LogLevel; writer?: LineWriter } = {}): Log {
  const level = options.level ?? levelOf(process.env)
  const writer = options.writer ?? (level === 'silent' ? { write: () => {} } : standardError())
  const base = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${now().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    writer,
  )
  const withRole = (role: string | undefined): Log => {
    const line =
      (level: Exclude<LogLevel, 'silent'>) =>
      (fields: LogFields, message: string): void => {
        if (base.isLevelEnabled(level)) base[level](permitted(fields, role), maskText(message))
      }
    return {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      child: (name) => withRole(name),
    }
  }
  return withRole(role)
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

/** The level that an environment asks for; a word that is no level asks for `info`. */
export function levelOf(environment: NodeJS.ProcessEnv): LogLevel {
  const asked = LEVELS.find((level) => level === environment['MULTIHUB_LOG_LEVEL'])
  return asked ?? (environment['NODE_ENV'] === 'test' ? 'silent' : 'info')
}

let shared: LineWriter | undefined

function standardError(): LineWriter {
  if (shared !== undefined) return shared
  const opened = openDestination({ dest: 2, sync: false, maxLength: BUFFER_MAX_BYTES })
  opened.on('drop', () => linesDropped.increment({}))
  shared = opened
  return opened
}

function permitted(fields: LogFields, role: string | undefined): Record<string, unknown> {
  const line: Record<string, unknown> = role === undefined ? {} : { role }
  const request_id = currentRequest()?.request_id
  if (request_id !== undefined) line['request_id'] = request_id
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    if (name === 'error') line[name] = describeFault(value)
    else if (!ALLOWED.has(name)) fieldsDropped.increment({})
    else if (Array.isArray(value)) line[name] = value.slice(0, ITEMS_MAX).map(plain)
    else line[name] = plain(value)
  }
  return line
}

/** Only plain values pass, so that no body travels in a permitted field's clothes. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (isDate(value)) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  fieldsDropped.increment({})
  return undefined
}

/** The log of this process, for library code and for whatever serves all roles. */
export const log: Log = createLog()
