import { z } from 'zod'
import { describedSetting, setting } from '#lib/platform/config/config.ts'
import { currentRequest } from '#lib/platform/context.ts'
import { clock } from '#lib/platform/time.ts'
import type { LogField } from './fields.ts'
import { createLineFormatter } from './line.ts'
import { type LineWriter, standardError } from './writer.ts'

type Scalar = string | number | bigint | boolean | Date | null | undefined

/** The fields of one line: those of `LOG_FIELDS`, with plain values, and `error` for anything that was thrown. */
export type LogFields = { readonly [Name in LogField]?: Scalar | readonly Scalar[] } & {
  readonly error?: unknown
}

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The lowest level that is written; `silent` writes nothing. */
export type LogLevel = (typeof LEVELS)[number]

/** The setting of the level. A log needs it before its process reads settings, so `levelOf` reads it alone. */
export const LOG_LEVEL_SETTING = describedSetting(
  'The lowest level that is logged. An unknown word means info.',
  setting<LogLevel>('MULTIHUB_LOG_LEVEL', LEVELS.join(', '), z.enum(LEVELS), { value: 'info', text: 'info' }),
)

/** Writes one line of JSON per call, with the request id. `message` is a constant sentence and never holds data. */
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
 * and buffered lines are written at exit. The level is MULTIHUB_LOG_LEVEL, otherwise `info`, and `silent` in tests.
 */
export function createLog(role?: string, options: { level?: LogLevel; writer?: LineWriter } = {}): Log {
  const level = options.level ?? levelOf(process.env)
  const writer = options.writer ?? (level === 'silent' ? { write: () => {} } : standardError())
  const withRole = (role: string | undefined): Log => {
    const writerOf = (line_level: Exclude<LogLevel, 'silent'>): Log['info'] => {
      if (LEVELS.indexOf(line_level) < LEVELS.indexOf(level)) return () => {}
      const format = createLineFormatter(line_level, role)
      const urgent = line_level === 'warn' || line_level === 'error'
      return (fields, message) => {
        const entry = { fields, message, now_ms: clock.now_ms(), request_id: currentRequest()?.request_id }
        if (urgent || fields.error !== undefined || writer.later === undefined) writer.write(format(entry))
        else writer.later(() => format(entry))
      }
    }
    return {
      debug: writerOf('debug'),
      info: writerOf('info'),
      warn: writerOf('warn'),
      error: writerOf('error'),
      child: (name) => withRole(name),
    }
  }
  return withRole(role)
}

/** The level that an environment asks for; an unknown word means `info`. */
export function levelOf(environment: NodeJS.ProcessEnv): LogLevel {
  const reading = LOG_LEVEL_SETTING.read(environment[LOG_LEVEL_SETTING.variable] ?? '')
  if (reading.ok) return reading.value
  return environment['NODE_ENV'] === 'test' ? 'silent' : 'info'
}

/** The log of this process, for code that several roles share. */
export const log: Log = createLog()
