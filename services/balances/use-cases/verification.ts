import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { SHARDS } from '../domain/shard.ts'
import { isShardDone, type LedgerVerification, type ShardVerification } from '../domain/verification.ts'
import type { Verifications } from '../store/verifications.ts'

/** The present or last verification of the ledger, and what is stored about each shard, by its number. */
export interface VerificationProgress {
  readonly verification: LedgerVerification
  readonly is_finished: boolean
  readonly shards: ReadonlyMap<number, ShardVerification>
}

/** Reads how far the present or last verification is. `undefined` when there was none. */
export async function getVerification(
  verifications: Verifications,
): Promise<VerificationProgress | undefined> {
  const verification = await verifications.getCurrent()
  if (verification === undefined) return undefined
  const shards = await verifications.listShards()
  return { verification, is_finished: isFinished(verification, shards), shards }
}

/** What the last verification of every shard that has ended says about the ledger. */
export interface LedgerSummary {
  /** Whether every shard was verified, and no problem is known. */
  readonly is_consistent: boolean
  /** Every batch before was verified; absent until every shard was. */
  readonly verified_until?: Date | undefined
}

/** Says whether the ledger is verified, and up to when. It reads one small document per shard. */
export async function summarizeLedger(
  verifications: Pick<Verifications, 'listShards'>,
): Promise<LedgerSummary> {
  const shards = [...(await verifications.listShards()).values()]
  const times = shards.flatMap(({ verified_until }) => verified_until?.getTime() ?? [])
  if (times.length < SHARDS) return { is_consistent: false }
  const is_consistent = shards.every(
    ({ problems, open_problems = 0 }) => problems.length + open_problems === 0,
  )
  return { is_consistent, verified_until: new Date(Math.min(...times)) }
}

function isFinished(
  { verification_id }: LedgerVerification,
  shards: ReadonlyMap<number, ShardVerification>,
): boolean {
  return shards.size === SHARDS && [...shards.values()].every((one) => isShardDone(verification_id, one))
}

/**
 * Starts a verification of the ledger, which the verifiers of all processes do in the background. While one is running,
 * a call changes nothing, so it may be repeated. With two exceptions: a verification from the first batch replaces a running one that
 * began where the verification before it had ended, and the operator's replaces one with a problem in a journal, which does not look at
 * that shard again. A scheduled one is paced to end in `due_in_ms`; a call without it makes a running one as fast as it may be.
 */
export async function startVerification(
  verifications: Verifications,
  from_first_batch: boolean,
  due_in_ms?: number,
): Promise<VerificationProgress> {
  const started_at = now()
  const due_at = due_in_ms === undefined ? undefined : new Date(started_at.getTime() + due_in_ms)
  const begun: LedgerVerification = { verification_id: uuidv7(), from_first_batch, started_at, due_at }
  const shards = await verifications.listShards()
  const stored = await verifications.updateCurrent((current) => {
    const is_running = current && !isFinished(current, shards)
    const is_spoilt = from_first_batch && due_at === undefined && hasFoundProblem(current, shards)
    const covers_request = (current?.from_first_batch && !is_spoilt) || !from_first_batch
    if (is_running && covers_request) return quickened(current, due_at)
    const full_began_at = from_first_batch ? started_at : current?.full_began_at
    return { ...begun, full_began_at, full_verified_until: current?.full_verified_until }
  })
  return { verification: stored ?? begun, is_finished: false, shards }
}

/** Whether a journal has a problem in this verification: after the operator has mended it, only another one can end the stop. */
function hasFoundProblem(
  current: LedgerVerification | undefined,
  shards: ReadonlyMap<number, ShardVerification>,
): boolean {
  return [...shards.values()].some(
    ({ verification_id, status, problems }) =>
      verification_id === current?.verification_id &&
      (status === 'stopped' || problems.some(({ place }) => place === 'journal')),
  )
}

/** A scheduled verification that the operator starts too is no longer paced; `undefined` for all others. */
function quickened(current: LedgerVerification, due_at: Date | undefined): LedgerVerification | undefined {
  return due_at === undefined && current.due_at !== undefined ? { ...current, due_at: undefined } : undefined
}

/** Notes that a verification from the first batch has ended, in however many processes, and could read every batch. */
export async function noteFullVerification(
  verifications: Verifications,
  { verification_id, from_first_batch, started_at }: LedgerVerification,
): Promise<void> {
  if (!from_first_batch || (await lacksArchive(verifications))) return
  await verifications.updateCurrent((current) =>
    current?.verification_id === verification_id &&
    current.full_verified_until?.getTime() !== started_at.getTime()
      ? { ...current, full_verified_until: started_at }
      : undefined,
  )
}

async function lacksArchive(verifications: Pick<Verifications, 'listShards'>): Promise<boolean> {
  const shards = await verifications.listShards()
  return [...shards.values()].some(({ problems }) => problems.some(({ place }) => place === 'archive'))
}
