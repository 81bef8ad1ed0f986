import type { Signer } from '#lib/base/crypto/signer.ts'
import { createOperationRuns, OPERATION_RUNS, type OperationRun } from '#lib/patterns/operation-runs.ts'
import type { Store } from '#lib/store/store.ts'
import { openApprovals } from '../approvals/store/approvals.ts'
import { openAuditLog } from '../audit/store/audit-log.ts'
import { openSessionStore } from '../sessions/store/sessions.ts'
import { openPrincipals } from './principals.ts'

/** All collections of the back office. */
export type BackofficeStore = Awaited<ReturnType<typeof openBackofficeStore>>

/**
 * Opens the collections of the back office in the database of this service. `signer` has the keys of the purpose `audit`. A
 * backup reads the collections in the order in which they are opened here: the audit trail is last, because it tells of the others.
 */
export async function openBackofficeStore(store: Store, signer: Signer) {
  return {
    principals: await openPrincipals(store),
    sessions: await openSessionStore(store),
    approvals: await openApprovals(store),
    operation_runs: createOperationRuns(await store.collection<OperationRun>(OPERATION_RUNS)),
    audit_log: await openAuditLog(store, signer),
  }
}
