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

/**
 * Makes a log. Lines go to standard error (standard output belongs to the `ready` line) without holding the process
 * up, and what still waits is written when it exits. The level is MULTIHUB_LOG_LEVEL, else `info`, and none in tests.
 */
export function createLog(role?: string, options: { level?: LogLevel; writer?: LineWriter } = {}): Log {
  const level = options.level ?? levelOf(process.env)
  const writer = options.writer ?? (level === 'silent' ? { write: () => {} } : standardError())
  const withRole = (role: string | undefined): Log => {
    const line = (of: Exclude<LogLevel, 'silent'>): Log['info'] => {
      if (LEVELS.indexOf(of) < LEVELS.indexOf(level)) return () => {}
      const format = createLineFormatter(of, role)
      const urgent = of === 'warn' || of === 'error'
      return (fields, message) => {
        const said = { fields, message, now_ms: clock.now_ms(), request_id: currentRequest()?.request_id }
        if (urgent || fields.error !== undefined || writer.later === undefined) writer.write(format(said))
        else writer.later(() => format(said))
      }
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

/** The log of this process, for library code and for whatever serves all roles. */
export const log: Log = createLog()
