import { clock } from '#lib/base/time.ts'
import { isError } from './faults.ts'
import { counter } from './metrics.ts'

/** The most lines of one cause in a minute. */
const LINES_MAX = 10
const MINUTE_MS = 60_000

/**
 * The most causes that are told apart in a minute. Those beyond share one cause per sentence. Sentences are constants of the
 * code, so the number of lines is limited whatever the texts of errors hold.
 */
const CAUSES_MAX = 500

/** The fields that tell causes apart. Each has few values: ids are not among them. */
const CAUSE_FIELDS =
  /^(?:role|part|kind|rpc|rpc_code|code|collection|provider_account|operation|outcome|state)$/

const ERRORS_MAX = 5
const TEXT_MAX = 80

/** A word that differs from one failure to the next, such as an address, an id or a duration. */
const VARYING_WORD = /[^\s"'(),:]*\d[^\s"'(),]*/g

const lines_left_out = counter(
  'multihub_log_lines_left_out_total',
  'Warnings and errors that were left out of the log because there were too many with the same cause in a minute.',
)

/** What a line says: its level, role, constant sentence and fields. */
export interface LimitedLine<Fields> {
  readonly level: 'warn' | 'error'
  readonly role: string | undefined
  readonly message: string
  readonly fields: Fields
}

/** Decides which warnings and errors a log writes. */
export type LineLimit<Fields extends object> = ReturnType<typeof createLineLimit<Fields>>

/**
 * Makes the limit of one log: ten lines per cause and minute, so that an outage does not fill the log. Lines with the same level,
 * role, sentence and kind of error have the same cause. The first line of a cause is always written. At the end of a
 * minute, `report` gets the first line of each cause and how many lines were left out.
 */
export function createLineLimit<Fields extends object>(
  report: (first: LimitedLine<Fields>, left_out: number) => void,
) {
  const causes = new Map<string, { readonly first: LimitedLine<Fields>; lines: number }>()
  let began_ms = Number.NaN
  let minute = 0

  function end(): void {
    const ended = [...causes.values()]
    causes.clear()
    began_ms = Number.NaN
    for (const { first, lines } of ended) if (lines > LINES_MAX) report(first, lines - LINES_MAX)
  }

  function begin(now_ms: number): void {
    end()
    began_ms = now_ms
    minute += 1
    const begun = minute
    // For the report: a later line ends the minute too.
    clock.after(MINUTE_MS, () => {
      if (minute === begun) end()
    })
  }

  return {
    /** Whether a line is to be written. A line that is not is counted. */
    admit(line: LimitedLine<Fields>): boolean {
      const now_ms = clock.monotonic_ms()
      if (!(now_ms - began_ms < MINUTE_MS)) begin(now_ms)
      const sentence = `${line.level} ${line.role} ${line.message}`
      const whole = sentence + textOfFields(line.fields)
      const key = causes.has(whole) || causes.size < CAUSES_MAX ? whole : sentence
      const cause = causes.get(key)
      if (cause === undefined) causes.set(key, { first: line, lines: 1 })
      else cause.lines += 1
      if (cause === undefined || cause.lines <= LINES_MAX) return true
      lines_left_out.increment({})
      return false
    },
    /** Ends the minute early, for a process that exits. */
    end,
  }
}

function textOfFields(fields: object): string {
  let text = ''
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'error') text += textOfError(value)
    else if (name === 'reason' && typeof value === 'string') text += ` ${lastingText(value)}`
    else if (CAUSE_FIELDS.test(name)) text += ` ${wordOf(value)}`
  }
  return text
}

/** The names and codes of an error and its causes, and the message of the innermost one. */
function textOfError(thrown: unknown): string {
  let text = ''
  let error = thrown
  for (let depth = 0; depth < ERRORS_MAX && isError(error); depth += 1) {
    text += ` ${wordOf(error.name)} ${'code' in error ? wordOf(error.code) : ''}`
    if (!isError(error.cause)) return `${text} ${lastingText(wordOf(error.message))}`
    error = error.cause
  }
  return text
}

/** A value as text. What was thrown may hold anything, also objects that cannot be made into text. */
function wordOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : typeof value
}

function lastingText(text: string): string {
  return text.slice(0, TEXT_MAX).replace(VARYING_WORD, '#')
}
