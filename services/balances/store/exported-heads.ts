import { z } from 'zod'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { type HeadKind, missingHeads, startHeadExport } from '#lib/patterns/journal/exported-heads.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { type Journal, signedHead } from './journal.ts'

const LEDGER_HEAD: HeadKind<Pick<Batch, 'shard'>> = {
  book: 'the ledger',
  role: 'balances',
  place: z.object({ shard: z.int() }),
  signedText: signedHead,
  nameOf: ({ shard, seq }) => `shard ${shard}, batch ${seq}`,
}

/**
 * Wraps a journal so that the newest batch of each shard that this process has committed goes to the log once a minute,
 * signed. `stop` writes what was not written yet. The lines are written whatever `MULTIHUB_LOG_LEVEL` says.
 */
export function withExportedHeads(
  journal: Journal,
  signer: Pick<Signer, 'sign'>,
  log: Pick<Log, 'info' | 'error'> = createLog('balances', { level: 'info' }),
) {
  const heads = startHeadExport(LEDGER_HEAD, signer, log)
  /** The hash of the batch of each shard whose insert had an unclear result. */
  const unclear = new Map<number, string>()
  const exported: Journal = {
    ...journal,
    async append(batch) {
      const result = await journal.append(batch)
      if (result === 'appended') heads.note(batch, { shard: batch.shard })
      if (result === 'unknown') unclear.set(batch.shard, batch.hash)
      return result
    },
    // After an unclear insert, a commit reads its position.
    async getBatch(shard, seq) {
      const batch = await journal.getBatch(shard, seq)
      if (batch !== undefined && unclear.get(shard) === batch.hash) {
        unclear.delete(shard)
        heads.note(batch, { shard })
      }
      return batch
    },
  }
  return { journal: exported, stop: heads.stop }
}

/** Compares heads in lines of the log with the journals; see `missingHeads`. */
export function missingLedgerHeads(
  journal: Pick<Journal, 'getHash'>,
  signer: Pick<Signer, 'verify'>,
  lines: AsyncIterable<string>,
): AsyncGenerator<string> {
  const hashAt = async ({ shard, seq }: Pick<Batch, 'shard' | 'seq'>): Promise<string | undefined> => {
    try {
      return await journal.getHash(shard, seq)
    } catch (error) {
      // An altered batch is reported by the check of the journal.
      if (error instanceof CorruptJournal) return undefined
      throw error
    }
  }
  return missingHeads(LEDGER_HEAD, signer, hashAt, lines)
}
