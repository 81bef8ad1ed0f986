import { currentRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import type { LogFields } from './fields.ts'
import { createLineFormatter } from './line.ts'
import { type LineWriter, standardError } from './writer.ts'

/** The levels, the lowest first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The lowest level that is written; `silent` writes nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number]

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

/**
 * Creates a log. Lines go to standard error, because standard output belongs to the `ready` line. Writing does not block,
 * and buffered lines are written at exit. The level is MULTIHUB_LOG_LEVEL, otherwise `info`.
 */
export function createLog(role?: string, options: { level?: LogLevel; writer?: LineWriter } = {}): Log {
  const level = options.level ?? levelOf(process.env)
  const writer = options.writer ?? (level === 'silent' ? { write: () => {} } : standardError())
  const withRole = (role: string | undefined): Log => {
    const methodOf = (line_level: Exclude<LogLevel, 'silent'>): Log['info'] => {
      if (LOG_LEVELS.indexOf(line_level) < LOG_LEVELS.indexOf(level)) return () => {}
      const format = createLineFormatter(line_level, role)
      const urgent = line_level === 'warn' || line_level === 'error'
      return (fields, message) => {
        const request = currentRequest()
        const entry = {
          fields,
          message,
          now_ms: clock.now_ms(),
          request_id: request?.request_id,
          trace_id: request?.trace?.trace_id,
        }
        // A kill must not lose a warning or a fault. Other lines wait for more, see `LineWriter.later`.
        if (urgent || fields.error !== undefined || writer.later === undefined) writer.write(format(entry))
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

/**
 * The level that MULTIHUB_LOG_LEVEL names. Without it, and for an unknown word, it is `info`: the log must also work while
 * the process reports that the word is wrong. No other variable silences the log.
 */
export function levelOf(variables: Readonly<Record<string, string | undefined>>): LogLevel {
  return LOG_LEVELS.find((level) => level === variables['MULTIHUB_LOG_LEVEL']?.trim()) ?? 'info'
}

/** The log of this process, for code that several roles share. */
export const log: Log = createLog()
