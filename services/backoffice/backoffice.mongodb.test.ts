import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../test/support/servers.ts'
import { role as balances } from '../balances/service.ts'
import { role as merchants } from '../merchants/service.ts'
import { intent, listAll } from './audit/audit.fixture.ts'
import { openAudit } from './audit/audit.ts'
import { openAuditLog } from './audit/store/audit-log.ts'
import { startDoor, type TestDoor } from './backoffice.fixture.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const APPROVALS = 'multihub.backoffice.v1.ApprovalService'
const PRINCIPALS = 'multihub.backoffice.v1.PrincipalService'
const AUDIT = 'multihub.backoffice.v1.AuditService'

const server = await mongodbForTests()

if ('skip' in server) test.skip(`the back office on MongoDB: ${server.skip}`, () => {})
else {
  let door: TestDoor
  beforeAll(async () => {
    const roles = ['backoffice', 'merchants', 'balances'] as const
    door = await startDoor([merchants, balances], {}, { mongodb: { uri: server.uri, roles } })
  })
  afterAll(async () => {
    await door[Symbol.asyncDispose]()
    await server.stop()
  })

  // O4, O5
  test('a call that needs a second person is executed once however many approve, and each act has one entry', async () => {
    const admin = await door.newPrincipal(['admin'])
    const proposer = await door.newPrincipal(['money'])
    const approvers = [await door.newPrincipal(['money']), await door.newPrincipal(['money'])]
    const { merchant } = await door.roles
      .client(MerchantService, 'backoffice')
      .createMerchant({ name: 'alpha', timezone: 'UTC', environments: [Environment.TEST] })
    const place = { merchantId: merchant?.merchantId, environment: 'ENVIRONMENT_TEST' }
    const policy = { rpc: ADJUST, currency: 'INR', aboveMinor: '100' }
    expect((await door.call(admin.token, `${APPROVALS}/SetApprovalPolicy`, policy)).status).toBe(200)
    const adjust = (minor: string) =>
      door.call(proposer.token, ADJUST, {
        ...place,
        amount: { minor, currency: 'INR' },
        operationId: uuidv7(),
        reason: 'correction',
      })
    const small = await Promise.all(Array.from({ length: 10 }, () => adjust('1')))
    expect(small.map(({ status }) => status)).toEqual(small.map(() => 200))
    const { body } = await adjust('500')
    const { approval_id } = JSON.parse(body.details?.[0]?.debug?.detailsJson)
    const decision = { approvalId: approval_id, reason: 'checked' }
    await Promise.all(
      [...approvers, ...approvers].map(({ token }) => door.call(token, `${APPROVALS}/Approve`, decision)),
    )
    const approval = await door.call(admin.token, `${APPROVALS}/GetApproval`, { approvalId: approval_id })
    expect(approval.body.approval.status).toBe('APPROVAL_STATUS_EXECUTED')
    const shown = await door.call(admin.token, 'multihub.balances.v1.BalanceService/GetBalances', place)
    expect(shown.body.balances).toMatchObject([{ currency: 'INR', available: '510' }])

    const filter = { principalId: proposer.id, pageSize: 4 }
    const outcomes: string[] = []
    for (let pageToken = ''; ; ) {
      const page = await door.call(admin.token, `${AUDIT}/ListAuditEntries`, { ...filter, pageToken })
      outcomes.push(...page.body.entries.map(({ outcome }: { readonly outcome: string }) => outcome))
      pageToken = page.body.nextPageToken
      if (pageToken === '') break
    }
    expect(outcomes).toEqual(['AUDIT_OUTCOME_PENDING_APPROVAL', ...small.map(() => 'AUDIT_OUTCOME_DONE')])
    const verified = await door.call(admin.token, `${AUDIT}/VerifyAudit`, {})
    expect(verified.body).toMatchObject({ consistent: true })
  })

  // O3, O12
  test('principals are created once, listed in pages and revoked', async () => {
    const admin = await door.newPrincipal(['admin'])
    const given = { name: 'robot', kind: 'PRINCIPAL_KIND_PROGRAM', rights: ['read'], operationId: uuidv7() }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => door.call(admin.token, `${PRINCIPALS}/CreatePrincipal`, given)),
    )
    const ids = new Set(answers.map(({ body }) => body.principal.principalId))
    expect(ids.size).toBe(1)
    const [principalId = ''] = ids
    const listed: string[] = []
    for (let pageToken = ''; ; ) {
      const { body } = await door.call(admin.token, `${PRINCIPALS}/ListPrincipals`, {
        pageSize: 2,
        pageToken,
      })
      listed.push(...body.principals.map((one: { readonly principalId: string }) => one.principalId))
      pageToken = body.nextPageToken
      if (pageToken === '') break
    }
    expect(listed.filter((id) => id === principalId)).toHaveLength(1)
    const revoked = { principalId, reason: 'not used' }
    const answer = await door.call(admin.token, `${PRINCIPALS}/RevokePrincipal`, revoked)
    expect(answer.body.principal.status).toBe('PRINCIPAL_STATUS_REVOKED')
  })

  // O4
  test('processes that write to the audit trail at once chain their batches, and complete an act once', async () => {
    const database = `backoffice-${randomHex(6)}`
    const open = async () => {
      const store = await openStore({
        database,
        mongodb_uri: new Secret(server.uri),
        timeout_ms: HANG_LIMIT_MS,
      })
      const signer = testKeys().audit
      const log = await openAuditLog(store, signer)
      const findAct = async () => ({ before: '{}', after: '{}' })
      const findProposal = async () => undefined
      const now_ms = () => clock.now_ms() + ahead_ms
      const audit = openAudit({ log, signer, now_ms, findAct, findProposal })
      return { store, audit }
    }
    let ahead_ms = 0
    const processes = [await open(), await open()]
    try {
      const audits = processes.map(({ audit }) => audit)
      const act = async (n: number): Promise<void> => {
        const audit = audits[n % 2]
        const audit_id = await audit?.begin(intent({ request_id: `r${n}` }))
        if (audit_id !== undefined && n >= 4)
          await audit?.end(audit_id, { outcome: 'refused', error_code: 6004 })
      }
      await Promise.all(Array.from({ length: 40 }, (_, n) => act(n)))
      ahead_ms = 300_000
      await Promise.all(audits.map((audit) => audit.completeActs()))
      for (const audit of audits) {
        const outcomes = (await listAll(audit)).map(({ outcome }) => outcome)
        expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(4)
        expect(outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(36)
        expect(await audit.verify()).toEqual({ entries: 40n, problems: [] })
      }
    } finally {
      for (const { audit, store } of processes) {
        await audit.stop()
        await store.close()
      }
      await using client = new MongoClient(server.uri)
      await client.db(database).dropDatabase()
    }
  })
}
