import { clock } from '#lib/base/time.ts'
import { isError } from './faults.ts'
import { counter } from './metrics.ts'

/** The most lines of one cause in a minute. */
const LINES_MAX = 10
const MINUTE_MS = 60_000

/**
 * The most causes of one sentence that are told apart in a minute; the others share one. Each sentence has its own, so that one whose
 * causes strangers can multiply hides no cause of another.
 */
const CAUSES_MAX = 50

/**
 * The most sentences, each with its level and role. Sentences are constants of the code and far fewer, so this only keeps a mistake
 * from filling the memory: beyond it, sentences share one.
 */
const SENTENCES_MAX = 500

/** What all causes or sentences beyond their limit share. */
const OTHERS = Symbol('others')

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

interface Cause<Fields> {
  readonly first: LimitedLine<Fields>
  lines: number
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
  const sentences = new Map<string | symbol, Map<string | symbol, Cause<Fields>>>()
  let began_ms = Number.NaN
  let minute = 0

  function end(): void {
    const ended = [...sentences.values()].flatMap((causes) => [...causes.values()])
    sentences.clear()
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
      const sentence = keyIn(sentences, `${line.level} ${line.role} ${line.message}`, SENTENCES_MAX)
      const causes = sentences.get(sentence) ?? new Map<string | symbol, Cause<Fields>>()
      sentences.set(sentence, causes)
      const key = keyIn(causes, textOfFields(line.fields), CAUSES_MAX)
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

/** A text as a key of the map, or the key of all others where the map is full. */
function keyIn(map: ReadonlyMap<string | symbol, unknown>, text: string, max: number): string | symbol {
  return map.has(text) || map.size < max ? text : OTHERS
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
