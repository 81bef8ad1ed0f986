import { backoffDelay } from '#lib/base/backoff.ts'
import { withoutDeadline } from '#lib/base/context.ts'
import { randomFraction, randomHex } from '#lib/base/crypto/random.ts'
import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { createGatherer } from '#lib/base/gather.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { commitBatch } from '#lib/patterns/journal/commit-batch.ts'
import { type AuditBatch, type AuditHead, sealBatch } from './domain/audit-chain.ts'
import type { AuditRecord } from './domain/audit-record.ts'
import type { AuditLog } from './store/audit-log.ts'

/** Most records in one batch, which bounds the time of a commit. A record has at most some 50 kB. */
const BATCH_RECORDS_MAX = 64

/** Longest time that records wait while other processes commit first. */
const WAIT_MAX_MS = 10_000

const LOST_RACE_PAUSE = { first_ms: 2, max_ms: 100 }

/** Adds a record to the audit trail. Resolves when it is durable, also when it was there before. */
export type AppendRecord = (record: AuditRecord) => Promise<void>

interface AppendDeps {
  readonly log: Pick<AuditLog, 'append' | 'readHead' | 'readPosition' | 'findRecord'>
  readonly signer: Pick<Signer, 'sign'>
  readonly now_ms: () => number
  readonly onCommitted: (batch: AuditBatch) => void
}

/**
 * Creates the one writer of a process. While a batch is committed, the records that come form the next one. The unique number
 * of a batch is the fence against other processes: when another one commits first, the same records are chained to its batch.
 * A record whose id is stored already is left out. Throws `Unavailable` when it is not known that the records are durable; the
 * same record can be added again.
 */
export function createAppender({ log, signer, now_ms, onCommitted }: AppendDeps): AppendRecord {
  let head: AuditHead | undefined

  /** Commits the records, and returns the ones to try once more. */
  async function tryCommit(records: readonly AuditRecord[]): Promise<readonly AuditRecord[]> {
    const base = head ?? (await log.readHead())
    head = undefined
    const batch = sealBatch(base, now_ms(), records, randomHex(16))
    const readPosition = (one: AuditBatch) => log.readPosition(one)
    const commit = await commitBatch(
      { append: (one: AuditBatch) => log.append(one, base), readPosition },
      batch,
    )
    if (commit.status === 'unknown')
      throw new Unavailable(`it is not known yet whether batch ${batch.seq} of the audit trail was written`, {
        cause: commit.cause,
      })
    if (commit.status === 'repeated_id') return await notStored(log, records)
    if (commit.status === 'superseded') return records
    const { seq, time, hash } = batch
    head = { seq, time_ms: time.getTime(), hash, key_id: keyIdOfSignature(signer.sign('')) }
    onCommitted(batch)
    return []
  }

  async function commit(records: readonly AuditRecord[]): Promise<readonly { readonly value: undefined }[]> {
    const until_ms = clock.monotonic_ms() + WAIT_MAX_MS
    let left = await tryCommit(records)
    for (let tries = 1; left.length > 0; tries += 1) {
      if (clock.monotonic_ms() > until_ms)
        throw new Unavailable('other processes always wrote to the audit trail first; try again')
      await sleep(backoffDelay(tries, LOST_RACE_PAUSE, randomFraction()))
      left = await tryCommit(left)
    }
    return records.map(() => ({ value: undefined }))
  }

  return createGatherer<AuditRecord, undefined>({
    fits: (batch) => batch.length < BATCH_RECORDS_MAX,
    in_flight_max: 1,
    // The records of several calls share a commit, so none of their deadlines may end it.
    send: (records) => withoutDeadline(() => commit(records)),
  })
}

async function notStored(
  log: Pick<AuditLog, 'findRecord'>,
  records: readonly AuditRecord[],
): Promise<readonly AuditRecord[]> {
  const found = await Promise.all(records.map((record) => log.findRecord(record)))
  return records.filter((_, index) => found[index] === undefined)
}
