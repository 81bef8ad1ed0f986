import { nextTurn } from '#lib/base/time.ts'
import { EMPTY_HEAD } from '../domain/audit-chain.ts'
import { recordId } from '../domain/audit-record.ts'
import type { AuditLog, CheckedBatch, ReadBatch } from '../store/audit-log.ts'

/** Batches in one read, which bounds for how long a verification delays other work of the process. */
const BATCHES_PER_READ = 16

/** Most problems that are kept: further ones say nothing new. */
const PROBLEMS_MAX = 20

/** What a verification of the audit trail found. */
export interface AuditVerification {
  readonly entries: bigint
  /** One sentence per problem, at most 20. */
  readonly problems: readonly string[]
}

/**
 * Checks the audit trail from its first batch to the present last one: each batch is as a holder of the keys wrote it and
 * continues the chain, and each outcome has its intent before it. It goes on after a problem.
 */
export async function verifyAudit(
  log: Pick<AuditLog, 'listChecked' | 'findRecord'>,
): Promise<AuditVerification> {
  const problems: string[] = []
  const report = (problem: string): void => {
    if (problems.length < PROBLEMS_MAX) problems.push(problem)
  }
  const open = new Set<string>()
  const missing_key_ids = new Set<string>()
  let entries = 0n
  for (let head = EMPTY_HEAD; ; ) {
    const batches = await log.listChecked(head, BATCHES_PER_READ)
    for (const batch of batches) {
      if (!batch.is_sound) reportUnsound(batch, missing_key_ids, report)
      entries += await checkRecords(log, batch, open, report)
    }
    const last = batches.at(-1)
    if (last === undefined) return { entries, problems }
    head = last.head
    await new Promise<void>((resolve) => nextTurn(resolve))
  }
}

/** A missing key is one problem, whatever number of batches needs it: they would hide all others. */
function reportUnsound(
  { seq, missing_key_id }: CheckedBatch,
  missing_key_ids: Set<string>,
  report: (problem: string) => void,
): void {
  if (missing_key_id === undefined) {
    report(`batch ${seq} of the audit trail is not as it was written, or does not follow the one before`)
  } else if (!missing_key_ids.has(missing_key_id)) {
    missing_key_ids.add(missing_key_id)
    report(
      `batch ${seq} of the audit trail was signed with the key ${missing_key_id}, which is not configured: set it, or its derived key of the purpose audit, to check the batches that need it`,
    )
  }
}

/** Returns the number of intents. `open` has the acts before the batch that have no outcome yet. */
async function checkRecords(
  log: Pick<AuditLog, 'findRecord'>,
  { seq, records }: ReadBatch,
  open: Set<string>,
  report: (problem: string) => void,
): Promise<bigint> {
  let entries = 0n
  for (const record of records) {
    const { kind, audit_id } = record
    if (kind === 'intent') {
      entries += 1n
      open.add(audit_id)
    } else if (!open.delete(audit_id)) {
      // The second of a completion and an outcome is rare, so the intent may be looked up.
      if ((await log.findRecord({ kind: 'intent', audit_id })) === undefined)
        report(`batch ${seq} of the audit trail has the record ${recordId(record)} without its intent`)
    }
  }
  return entries
}
