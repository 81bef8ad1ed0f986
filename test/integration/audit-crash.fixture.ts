import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { type Audit, openAudit } from '../../services/backoffice/audit/audit.ts'
import type { FindAct } from '../../services/backoffice/audit/complete-acts.ts'
import { openAuditLog } from '../../services/backoffice/audit/store/audit-log.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

/** The acts that an owner has carried out, by the ids of the audit trail. */
export async function openActs(directory: string) {
  const store = await openStore({ database: 'owner', directory, timeout_ms: HANG_LIMIT_MS })
  const collection = await store.collection<{ readonly name: string; readonly audit_id: string }>({
    name: 'acts',
    partition: ['name'],
    key: ['name', 'audit_id'],
  })
  const name = 'act'
  return {
    insert: (audit_id: string) => collection.insert({ name, audit_id }),
    has: async (audit_id: string): Promise<boolean> =>
      (await collection.get({ name, audit_id })) !== undefined,
    async all(): Promise<string[]> {
      const ids: string[] = []
      for (;;) {
        const after = ids.length === 0 ? undefined : { name, audit_id: ids.at(-1) }
        const page = await collection.find('key', { equals: [name] }, { limit: 1_000, after })
        ids.push(...page.map(({ audit_id }) => audit_id))
        if (page.length < 1_000) return ids
      }
    },
    close: () => store.close(),
  }
}

/** The audit trail in a directory, as one more process has it. */
export async function openAuditOf(
  directory: string,
  findAct: FindAct,
  now_ms: () => number = clock.now_ms,
): Promise<Audit> {
  const store = await openStore({ database: 'backoffice', directory, timeout_ms: HANG_LIMIT_MS })
  const signer = testKeys().audit
  const findProposal = async () => undefined
  return openAudit({ log: await openAuditLog(store, signer), signer, now_ms, findAct, findProposal })
}
