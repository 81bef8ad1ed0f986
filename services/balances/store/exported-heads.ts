import { z } from 'zod'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { every } from '#lib/base/time.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { type Journal, signedHead } from './journal.ts'

/** How often the heads of journals go to the log. An outsider who keeps the log can lose the knowledge of a minute. */
const EXPORT_MS = 60_000

/** The message of a line of the log with the head of a journal, by which `verify --heads FILE` finds these lines. */
const HEAD_MESSAGE = 'head of the ledger'

/**
 * Wraps a journal so that the newest batch of each shard that this process has committed goes to the log once a minute,
 * signed. A journal that is cut off later, or replaced by an earlier copy, lacks a batch that the log has: no signature within
 * the database can show that. `stop` writes what was not written yet. The lines are written whatever `MULTIHUB_LOG_LEVEL` says.
 */
export function withExportedHeads(
  journal: Journal,
  signer: Pick<Signer, 'sign'>,
  log: Pick<Log, 'info' | 'error'> = createLog('balances', { level: 'info' }),
) {
  const heads = new Map<number, Batch>()
  const exportHeads = (): void => {
    for (const batch of heads.values()) {
      const { shard, seq, hash } = batch
      log.info({ shard, seq, hash, signature: signer.sign(signedHead(batch)) }, HEAD_MESSAGE)
    }
    heads.clear()
  }
  const timer = every(
    EXPORT_MS,
    async () => exportHeads(),
    (error) => log.error({ error }, 'the heads of the ledger were not written to the log'),
  )
  const exported: Journal = {
    ...journal,
    async append(batch) {
      const result = await journal.append(batch)
      if (result === 'appended') heads.set(batch.shard, batch)
      return result
    },
    // After an unclear insert, a commit reads its position.
    async getBatch(shard, seq) {
      const batch = await journal.getBatch(shard, seq)
      const known = heads.get(shard)
      if (batch !== undefined && known !== undefined && known.seq < seq) heads.set(shard, batch)
      return batch
    },
  }
  return {
    journal: exported,
    stop(): void {
      timer.cancel()
      exportHeads()
    },
  }
}

const HEAD_LINE = z.object({
  message: z.literal(HEAD_MESSAGE),
  shard: z.int(),
  seq: z.string().regex(/^\d{1,19}$/),
  hash: z.string(),
  signature: z.string(),
})

/**
 * Compares heads in lines of the log with the journals: each must be a batch of its journal still. Yields a sentence for one
 * that is not, for a line that no key of the ledger has signed, and for a log without any head. Other lines of the log are
 * skipped, and what a container runtime writes before a line.
 */
export async function* missingHeads(
  journal: Pick<Journal, 'getBatch'>,
  signer: Pick<Signer, 'verify'>,
  lines: AsyncIterable<string>,
): AsyncGenerator<string> {
  let heads = 0
  for await (const line of lines) {
    if (!line.includes(HEAD_MESSAGE)) continue
    const head = HEAD_LINE.safeParse(parseOrUndefined(line.slice(line.indexOf('{')))).data
    if (head === undefined) continue
    heads += 1
    const { shard, hash, signature } = head
    const seq = BigInt(head.seq)
    if (!signer.verify(signedHead({ shard, seq, hash }), signature)) {
      yield `the log has a head of shard ${shard}, batch ${seq}, that no key of the ledger has signed`
      continue
    }
    const stored = await journal.getBatch(shard, seq).catch((error: unknown) => {
      // An altered batch is reported by the check of the journal.
      if (error instanceof CorruptJournal) return undefined
      throw error
    })
    if (stored?.hash !== hash)
      yield `shard ${shard}, batch ${seq}: the batch that the log has is ${stored ? 'another one' : 'missing'}; the journal was cut off or replaced`
  }
  if (heads === 0)
    yield `the file has no line of balances with "message":"${HEAD_MESSAGE}", so nothing was compared: name a file of its log`
}

function parseOrUndefined(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
