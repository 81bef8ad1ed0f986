import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { type Audit, openAudit } from './audit.ts'
import type { FindAct, FindProposal } from './complete-acts.ts'
import type { AuditIntent } from './domain/audit-record.ts'
import { type AuditLog, openAuditLog } from './store/audit-log.ts'
import type { AuditEntry, AuditQuery } from './use-cases/list-entries.ts'

/** An audit trail on its own embedded store, for tests. */
export interface AuditFixture extends AsyncDisposable {
  readonly directory: string
  readonly store: Store
  readonly log: AuditLog
  readonly audit: Audit
  /** Moves the clock of the store, by which acts are overdue, ahead of the machine's. */
  advance(ms: number): void
  /** Opens one more process on the same store. The fixture stops it. */
  open(options?: { readonly signer?: Signer; readonly wrap?: (log: AuditLog) => AuditLog }): Promise<Audit>
}

/** Opens an audit trail on an embedded store in a new directory. Disposing of it deletes the directory. */
export async function openAuditFixture(
  findAct: FindAct = async () => undefined,
  findProposal: FindProposal = async () => undefined,
): Promise<AuditFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-audit-'))
  const store = await openStore({ database: 'backoffice', directory, timeout_ms: HANG_LIMIT_MS })
  const opened: Audit[] = []
  let ahead_ms = 0
  const open: AuditFixture['open'] = async ({
    signer = testKeys().audit,
    wrap = (log: AuditLog) => log,
  } = {}) => {
    const log = wrap(await openAuditLog(store, signer))
    const now_ms = (): number => clock.now_ms() + ahead_ms
    const audit = openAudit({ log, signer, now_ms, findAct, findProposal })
    opened.push(audit)
    return audit
  }
  return {
    directory,
    store,
    log: await openAuditLog(store, testKeys().audit),
    audit: await open(),
    advance(ms) {
      ahead_ms += ms
    },
    open,
    async [Symbol.asyncDispose]() {
      for (const audit of opened) await audit.stop()
      await store.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The intent of an adjustment. */
export function intent(fields: Partial<AuditIntent> = {}): AuditIntent {
  return {
    principal_id: 'p1',
    principal_name: 'alice',
    rpc: 'multihub.balances.v1.BalanceService/Adjust',
    merchant_id: '1000',
    targets: [{ kind: 'merchant', id: '1000' }],
    reason: 'month end',
    request: '{"amount":"5"}',
    request_id: 'r1',
    deadline: new Date(clock.now_ms() + 10_000),
    ...fields,
  }
}

/** Every entry of a filter, page by page. */
export async function listAll(audit: Audit, query: Partial<AuditQuery> = {}): Promise<AuditEntry[]> {
  const all: AuditEntry[] = []
  for (let page_token = ''; ; ) {
    const page = await audit.list({ page_size: 7, ...query, page_token })
    all.push(...page.entries)
    page_token = page.next_page_token
    if (page_token === '') return all
  }
}
