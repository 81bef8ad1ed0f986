import { NO_SIGNER } from '#lib/base/crypto/signer.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { missingAuditHeads } from './audit/store/audit-heads.ts'
import { verifyAudit } from './audit/use-cases/verify-audit.ts'
import { SESSIONS } from './sessions/store/sessions.ts'
import { openBackofficeStore } from './store/backoffice-store.ts'

/** What the commands of an installation need of the back office. */
export const operations: RoleOperations = {
  name: 'backoffice',
  openCollections: (store) => openBackofficeStore(store, NO_SIGNER),
  // One that was ended after the backup would count again (O21).
  restoreDocument: (collection, document) => (collection === SESSIONS.name ? undefined : document),
  async checkData(store, _readDocuments, _variables, keys) {
    const { audit_log } = await openBackofficeStore(store, keys.audit)
    return {
      async *findProblems() {
        yield* (await verifyAudit(audit_log)).problems
      },
      compareWithLog: (lines) => missingAuditHeads(audit_log, keys.audit, lines),
    }
  },
}
