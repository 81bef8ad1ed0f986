import type { Signer } from '#lib/base/crypto/signer.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { every } from '#lib/base/time.ts'
import { log as processLog } from '#lib/telemetry/log.ts'
import { createAppender } from './append-records.ts'
import { type FindAct, type FindProposal, startCompletion } from './complete-acts.ts'
import {
  type AuditIntent,
  type AuditOutcome,
  boundedIntent,
  boundedOutcome,
  type OutcomeRecord,
} from './domain/audit-record.ts'
import { exportAuditHeads } from './store/audit-heads.ts'
import type { AuditLog } from './store/audit-log.ts'
import { type AuditQuery, getEntry, listEntries } from './use-cases/list-entries.ts'
import { type AuditVerification, verifyAudit } from './use-cases/verify-audit.ts'

/** Most outcomes that wait for a store that cannot be reached. The acts of further ones are completed as unknown. */
const UNWRITTEN_MAX = 10_000
const REPEAT_MS = 1_000

/** What the audit trail needs. `now_ms` is the clock of the store, which all processes share. */
interface AuditDeps {
  readonly log: AuditLog
  readonly signer: Signer
  readonly now_ms: () => number
  readonly findAct: FindAct
  readonly findProposal: FindProposal
}

/** The audit trail, as the door of the back office uses it. */
export type Audit = ReturnType<typeof openAudit>

/** Opens the audit trail of a process (O4). */
export function openAudit({ log, signer, now_ms, findAct, findProposal }: AuditDeps) {
  const heads = exportAuditHeads(signer)
  const append = createAppender({ log, signer, now_ms, onCommitted: heads.note })
  const completion = startCompletion({ log, append, findAct, findProposal, now_ms })
  const unwritten = new Map<string, OutcomeRecord>()
  let verifying: Promise<AuditVerification> | undefined

  async function writeOutcome(record: OutcomeRecord): Promise<void> {
    await append(record)
    unwritten.delete(record.audit_id)
  }
  const repetition = every(
    REPEAT_MS,
    async () => {
      await Promise.all([...unwritten.values()].map(writeOutcome))
    },
    (error) => processLog.warn({ error }, 'outcomes of acts could not be written to the audit trail yet'),
  )
  return {
    /** Stores what is about to happen. Resolves with the `audit_id` when it is durable. Throws `Unavailable`: do not act. */
    async begin(intent: AuditIntent): Promise<string> {
      const audit_id = uuidv7()
      await append({ kind: 'intent', audit_id, ...boundedIntent(intent) })
      return audit_id
    },
    /**
     * Stores what came of it. The act cannot be undone, so nothing is thrown when the store cannot be reached: the outcome is
     * written as soon as it can be, and counts also when the act was completed meanwhile.
     */
    async end(audit_id: string, outcome: AuditOutcome): Promise<void> {
      const record = { kind: 'outcome', audit_id, ...boundedOutcome(outcome) } as const
      try {
        await append(record)
      } catch (error) {
        processLog.error({ error }, 'the outcome of an act could not be written to the audit trail yet')
        if (unwritten.size < UNWRITTEN_MAX) unwritten.set(audit_id, record)
      }
    },
    /** A page of entries; see `listEntries`. */
    list: (query: AuditQuery) => listEntries(log, query),
    /** One entry, whatever its age; see `getEntry`. */
    get: (audit_id: string) => getEntry(log, audit_id),
    /** Checks the whole audit trail; see `verifyAudit`. A call during a verification gets the result of that one. */
    verify(): Promise<AuditVerification> {
      verifying ??= verifyAudit(log).finally(() => {
        verifying = undefined
      })
      return verifying
    },
    /** Completes the acts that are overdue; it also happens every 10 s. */
    completeActs: completion.sweep,
    async stop(): Promise<void> {
      await completion.stop()
      await repetition.stop()
      await Promise.allSettled([...unwritten.values()].map(writeOutcome))
      heads.stop()
    },
  }
}
