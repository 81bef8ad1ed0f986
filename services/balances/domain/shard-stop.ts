import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** Decisions of a shard that a verification has stopped (B4.5). The document of a shard stays when its stop has ended. */
export interface ShardStop {
  readonly shard: number
  /** The batch that was not as the ledger wrote it, in two readings. */
  readonly seq: bigint
  readonly description: string
  /** The verification that found it. */
  readonly verification_id: string
  readonly found_at: Date
  /** Equal to `found_at` while the shard is stopped; absent afterwards. */
  readonly stopped_since?: Date | undefined
  readonly ended_at?: Date | undefined
  readonly ended_by?: 'verification' | 'operator' | undefined
  /** When a whole verification found nothing after the operator had resumed the shard: the same finding is a new one then. */
  readonly mended_at?: Date | undefined
  /** The verification that found nothing then. After a crash it goes on as if the finding was still accepted. */
  readonly mended_by?: string | undefined
  /** Why the operator resumed the shard. */
  readonly reason?: string | undefined
  /** The last operations by which the operator resumed the shard: a repetition must not end a later stop. */
  readonly operation_ids: readonly string[]
}

/** What a verification found twice in a shard. */
export type FoundAlteration = Pick<
  ShardStop,
  'shard' | 'seq' | 'description' | 'verification_id' | 'found_at'
>

const OPERATIONS_MAX = 16

/** A verification has stopped the decisions of a shard. Nothing is decided, and the command can be repeated after the stop. */
export class ShardStopped extends Unavailable {
  override readonly name = 'ShardStopped'
  constructor({ shard, seq }: Pick<ShardStop, 'shard' | 'seq'>) {
    super(
      `shard ${shard} is stopped: a verification found that batch ${seq} was altered; see docs/operators/runbooks/ledger-stopped.md`,
    )
  }
}

/**
 * The stop after a verification found an alteration. `undefined`: nothing changes, because the shard is stopped already, or because
 * the operator has resumed it knowing of this very finding.
 */
export function stopFor(current: ShardStop | undefined, found: FoundAlteration): ShardStop | undefined {
  if (current?.stopped_since !== undefined) return undefined
  const is_known = current?.seq === found.seq && current.description === found.description
  if (is_known && isAccepted(current)) return undefined
  // The acts of the operator that the document keeps stay; what ended the stop before does not.
  const kept = {
    ...current,
    ended_at: undefined,
    ended_by: undefined,
    mended_at: undefined,
    mended_by: undefined,
    reason: undefined,
  }
  return { ...kept, ...found, stopped_since: found.found_at, operation_ids: current?.operation_ids ?? [] }
}

/** Whether the operator has resumed the shard knowing of the finding, which is not mended. */
export function isAccepted({ stopped_since, ended_by, mended_at }: ShardStop): boolean {
  return stopped_since === undefined && ended_by === 'operator' && mended_at === undefined
}

/** Whether this verification may go on without the batch of the stop: the operator accepted that, and no other one has mended it. */
export function isAcceptedFor(stop: ShardStop, verification_id: string): boolean {
  return isAccepted(stop) || (stop.mended_by === verification_id && stop.stopped_since === undefined)
}

/** The stop after another verification read the whole shard from its first batch without a problem; `undefined`: nothing changes. */
export function endedByVerification(
  current: ShardStop | undefined,
  { verification_id, began_at, at }: { verification_id: string; began_at: Date; at: Date },
): ShardStop | undefined {
  if (current === undefined || current.verification_id === verification_id) return undefined
  if (began_at < current.found_at) return undefined
  if (isAccepted(current)) return { ...current, mended_at: at, mended_by: verification_id }
  if (current.stopped_since === undefined) return undefined
  return { ...current, stopped_since: undefined, ended_at: at, ended_by: 'verification' }
}

/** A decision of the operator to end a stop. `seq` and `verification_id` name the stop that was seen. */
export interface Resumption extends Pick<ShardStop, 'seq' | 'verification_id'> {
  readonly operation_id: string
  readonly reason: string
}

/** The stop after the operator resumed the shard. `not_stopped`: not by the stop that was seen. A repetition changes nothing. */
export function endedByOperator(
  current: ShardStop | undefined,
  { operation_id, reason, seq, verification_id }: Resumption,
  at: Date,
): ShardStop | 'not_stopped' {
  if (current?.operation_ids.includes(operation_id)) return current
  if (current?.stopped_since === undefined) return 'not_stopped'
  if (current.seq !== seq || current.verification_id !== verification_id) return 'not_stopped'
  const operation_ids = [...current.operation_ids, operation_id].slice(-OPERATIONS_MAX)
  return { ...current, stopped_since: undefined, ended_at: at, ended_by: 'operator', reason, operation_ids }
}
