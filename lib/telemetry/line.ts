import { isDate } from 'node:util/types'
import { describeFault, maskText } from './faults.ts'
import { LOG_FIELDS, type LogField, type LogFields } from './fields.ts'
import { counter } from './metrics.ts'

/** Formats an entry as one line of JSON, with its newline. */
export type LineFormatter = (entry: LogEntry) => string

/** The content of one log line. */
export interface LogEntry {
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
export function createLineFormatter(level: string, role: string | undefined): LineFormatter {
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
