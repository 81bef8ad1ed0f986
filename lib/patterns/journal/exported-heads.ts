import { z } from 'zod'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { every } from '#lib/base/time.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { parseLogLine } from '#lib/telemetry/log-line.ts'

/** How often the heads of journals go to the log. An outsider who keeps the log can lose the knowledge of a minute. */
const EXPORT_MS = 60_000

/** The fields by which a head names its place in the log: text and numbers. The sequence is a bigint in code. */
type Place = Readonly<Record<string, string | number>>

/** A kind of head: one per kind of journal. */
export interface HeadKind<P extends Place> {
  /**
   * What the journals are. `verify --heads FILE` finds their lines of the log by it: `head of the ledger` or
   * `head of the audit trail`.
   */
  readonly book: string
  /** The role whose log has it. */
  readonly role: string
  /** The other fields of the line that name the journal, as they are parsed. */
  readonly place: z.ZodType<P>
  /** Whether a log may have no head, because days can pass without a batch. */
  readonly is_optional?: true
  /** What the signature covers. */
  signedText(head: P & Head): string
  /** The place in words, such as `shard 3, batch 17`. */
  nameOf(head: P & Head): string
}

/** The end of a journal at some time. */
export interface Head {
  readonly seq: bigint
  readonly hash: string
}

/**
 * Writes the newest heads that it was given to the log once a minute, signed. A journal that is cut off later, or replaced by
 * an earlier copy, lacks a batch that the log has: no signature within the database can show that. `stop` writes what was not
 * written yet. The log must write whatever `MULTIHUB_LOG_LEVEL` says.
 */
export function startHeadExport<P extends Place>(
  { book, signedText }: HeadKind<P>,
  signer: Pick<Signer, 'sign'>,
  log: Pick<Log, 'info' | 'error'>,
) {
  const heads = new Map<string, P & Head>()
  const exportHeads = (): void => {
    for (const head of heads.values())
      log.info({ ...head, signature: signer.sign(signedText(head)) }, messageOf(book))
    heads.clear()
  }
  const timer = every(
    EXPORT_MS,
    async () => exportHeads(),
    (error) => log.error({ error }, 'the heads of journals were not written to the log'),
  )
  return {
    /** Keeps the head of a batch that was committed, unless a newer one of its journal waits for the log. */
    note({ seq, hash }: Head, place: P): void {
      const key = keyOf(place)
      const waiting = heads.get(key)
      if (waiting === undefined || waiting.seq < seq) heads.set(key, { ...place, seq, hash })
    },
    stop(): void {
      timer.cancel()
      exportHeads()
    },
  }
}

function messageOf(book: string): string {
  return `head of ${book}`
}

function keyOf(place: Place): string {
  return Object.values(place).join(' ')
}

const HEAD_LINE = z.object({
  message: z.string(),
  seq: z.string().regex(/^\d{1,19}$/),
  hash: z.string(),
  signature: z.string(),
})

/**
 * Compares heads in lines of the log with the journals: each must be a batch of its journal still. Yields a sentence for one
 * that is not, for a line that no key has signed, and for a log without any head. Other lines of the log are skipped. `hashAt` is the
 * stored hash at a place, `undefined` without a batch there.
 */
export async function* missingHeads<P extends Place>(
  { book, role, is_optional, place, signedText, nameOf }: HeadKind<P>,
  signer: Pick<Signer, 'verify'>,
  hashAt: (head: P & Head) => Promise<string | undefined>,
  lines: AsyncIterable<string>,
): AsyncGenerator<string> {
  const message = messageOf(book)
  let count = 0
  for await (const line of lines) {
    if (!line.includes(message)) continue
    const content = parseLogLine(line)
    const fields = HEAD_LINE.safeParse(content).data
    const its_place = place.safeParse(content).data
    if (fields?.message !== message || its_place === undefined) continue
    count += 1
    const head = { ...its_place, seq: BigInt(fields.seq), hash: fields.hash }
    if (!signer.verify(signedText(head), fields.signature)) {
      yield `the log has a head of ${nameOf(head)}, that no key of ${book} has signed`
      continue
    }
    const stored = await hashAt(head)
    if (stored !== head.hash)
      yield `${nameOf(head)}: the batch that the log has is ${stored === undefined ? 'missing' : 'another one'}; the journal was cut off or replaced`
  }
  if (count === 0 && !is_optional)
    yield `the file has no line of ${role} with "message":"${message}", so nothing was compared: name a file of its log`
}
