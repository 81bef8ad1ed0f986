import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { describedSetting, optionalSetting } from '#lib/base/config/config.ts'
import { durationSetting, textSetting } from '#lib/base/config/settings.ts'
import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { syncDirectory } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { now } from '#lib/base/time.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { parseLogLine } from '#lib/telemetry/log-line.ts'

/*
 * The list of erasures outside the databases (O11): a backup that is restored later still has what was erased since, and
 * this list says what must go again. It has keyed hashes only. A line of the list is
 *
 *   {"time":"2026-11-24T10:00:00.000Z","kind":"payment","subject":"2026.<64 hex digits>","message":"a person was erased"}
 *
 * and the log has the same fields in its lines, so a file of log lines is a list too.
 */

/** The setting of the file to which processes append erasures. */
export const ERASURES_FILE_SETTING = describedSetting(
  'The file to which each erasure of a person is appended, outside the databases and their backups. Without it, erasures are lines of the log.',
  optionalSetting(textSetting('MULTIHUB_ERASURES_FILE')),
)

const DAY_MS = 86_400_000

/** The setting of the time after which what identifies a person is erased by itself. */
export const PERSON_RETENTION_SETTING = describedSetting(
  'How long what identifies a person is kept after the end of a payment, ticket, refund or chargeback. Then it is erased.',
  durationSetting('MULTIHUB_PERSON_RETENTION', {
    min: DAY_MS,
    max: 36_600 * DAY_MS,
    fallback: 400 * DAY_MS,
  }),
)

/** What can be erased: a payment with its callbacks, or a resource of support with its comments, files and callbacks. */
export const ERASED_KINDS = ['payment', 'ticket', 'refund', 'chargeback'] as const

/** A kind of what can be erased. */
export type ErasedKind = (typeof ERASED_KINDS)[number]

/** What was erased: a payment or a resource of support, of a merchant. */
export interface ErasedSubject {
  readonly kind: ErasedKind
  readonly merchant_id: string
  readonly id: string
}

const MESSAGE = 'a person was erased'

const ERASURE_LINE = z.object({
  message: z.literal(MESSAGE),
  subject: z.string().regex(/^[\w-]{1,32}\.[0-9a-f]{64}$/),
})

function subjectOf({ kind, merchant_id, id }: ErasedSubject): string {
  return `erased:${kind}:${merchant_id}:${id}`
}

/** Where a process writes down what it erases. */
export interface ErasureLog {
  /**
   * Resolves when the line is durable in the file, or given to the log. Call it before the erasure, so that no erasure is missing;
   * repetitions do no harm.
   */
  append(erased: ErasedSubject): Promise<void>
}

/** Creates the list of a process: the file if there is one, else the log, whatever `MULTIHUB_LOG_LEVEL` says. */
export function createErasureLog(path: string | undefined, search: Pick<Signer, 'sign'>): ErasureLog {
  const log = createLog(undefined, { level: 'warn', is_limited: false })
  return {
    async append(erased) {
      const { kind } = erased
      const subject = search.sign(subjectOf(erased))
      if (path === undefined) return log.warn({ kind, subject }, MESSAGE)
      const line = JSON.stringify({ time: now(), kind, subject, message: MESSAGE })
      const handle = await open(path, 'a', 0o600)
      try {
        // It begins with an end of line, so that it is not part of a line that a crash has cut. Not `write`, which can write a part
        // of it to a full disk without an error.
        await handle.appendFile(`\n${line}\n`)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await syncDirectory(dirname(path))
    },
  }
}

/** The list that says that nobody was erased. */
export const NO_ERASURES: Erasures = { count: 0, includes: () => false }

/** A list of erasures that was read. */
export interface Erasures {
  /** The number of its lines. */
  readonly count: number
  /** Whether this was erased. */
  includes(erased: ErasedSubject): boolean
}

/** Near what one set of JavaScript holds. */
const ERASURES_MAX = 16_000_000

/**
 * Reads a list of erasures by its lines: a list of a few million does not fit into one text. Other lines of a log are skipped, and
 * lines that a crash has cut, whose erasure did not follow. Throws `StartError` for lines without any erasure, which are another file by
 * mistake, for more than 16 million, and for lines under a key of the purpose `search` that is not configured.
 */
export async function readErasures(
  lines: AsyncIterable<string> | Iterable<string>,
  search: Pick<Signer, 'signWithEach'>,
): Promise<Erasures> {
  const subjects = new Set<string>()
  for await (const line of lines) {
    const subject = subjectOfLine(line)
    if (subject === undefined) continue
    if (subjects.size === ERASURES_MAX)
      throw new StartError(
        `the list of erasures has over ${ERASURES_MAX} lines: leave out those that are older than the backup`,
      )
    subjects.add(subject)
  }
  if (subjects.size === 0)
    throw new StartError(
      `the list of erasures has no line with "message":"${MESSAGE}": name the right file, or none if nobody was erased`,
    )
  const known = new Set(search.signWithEach('').map(keyIdOfSignature))
  const unknown = new Set<string>()
  for (const subject of subjects) {
    const id = keyIdOfSignature(subject)
    if (!known.has(id)) unknown.add(id)
  }
  if (unknown.size > 0)
    throw new StartError(
      `the list of erasures needs the keys ${[...unknown].join(', ')}: add them and repeat`,
    )
  return {
    count: subjects.size,
    includes: (erased) => search.signWithEach(subjectOf(erased)).some((hash) => subjects.has(hash)),
  }
}

function subjectOfLine(line: string): string | undefined {
  return line.includes(MESSAGE) ? ERASURE_LINE.safeParse(parseLogLine(line)).data?.subject : undefined
}
