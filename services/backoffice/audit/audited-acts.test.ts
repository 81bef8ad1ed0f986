import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { isUnary } from '#lib/rpc/service.ts'
import { role as balances } from '../../balances/service.ts'
import { role as merchants } from '../../merchants/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import { hasRight } from '../domain/rights.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const GET_BALANCES = 'multihub.balances.v1.BalanceService/GetBalances'
const GET_ATTACHMENT = 'multihub.attachments.v1.AttachmentService/GetAttachment'
const LIST = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
const GET = 'multihub.backoffice.v1.AuditService/GetAuditEntry'
const VERIFY = 'multihub.backoffice.v1.AuditService/VerifyAudit'
const UPDATE_CREDENTIAL = 'multihub.merchants.v1.CredentialService/UpdateCredential'
const CREATE_CREDENTIAL = 'multihub.merchants.v1.CredentialService/CreateCredential'

let door: TestDoor
let admin: { id: string; token: string }
let merchant_id: string
beforeAll(async () => {
  door = await startDoor([merchants, balances])
  admin = await door.newPrincipal(['admin'])
  const { merchant } = await door.roles
    .client(MerchantService, 'backoffice')
    .createMerchant({ name: 'alpha', timezone: 'UTC', environments: [Environment.TEST] })
  merchant_id = merchant?.merchantId ?? ''
})
afterAll(async () => door[Symbol.asyncDispose]())

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an entry
async function entriesOf(filter: object): Promise<any[]> {
  const { status, body } = await door.call(admin.token, LIST, { pageSize: 100, ...filter })
  expect(status).toBe(200)
  return body.entries ?? []
}

function adjustment(fields: object = {}): object {
  return {
    merchantId: merchant_id,
    environment: 'ENVIRONMENT_TEST',
    amount: { minor: '500', currency: 'INR' },
    operationId: uuidv7(),
    reason: 'month end',
    ...fields,
  }
}

// O4
test('a reason of 500 characters is kept whole, whatever the characters', async () => {
  const money = await door.newPrincipal(['money'])
  const reason = '\u{1f600}'.repeat(500)
  expect(await door.call(money.token, ADJUST, adjustment({ reason }))).toMatchObject({ status: 200 })
  expect(await entriesOf({ principalId: money.id })).toEqual([expect.objectContaining({ reason })])
})

// O16.1
test('an act that could not be checked before it was sent is refused, and not unknown', async () => {
  const money = await door.newPrincipal(['money'])
  door.roles.setStoreUnavailable('merchants', true)
  try {
    expect((await door.call(money.token, ADJUST, adjustment())).body).toMatchObject({ code: 'unavailable' })
  } finally {
    door.roles.setStoreUnavailable('merchants', false)
  }
  expect(await entriesOf({ principalId: money.id })).toMatchObject([
    { outcome: 'AUDIT_OUTCOME_REFUSED', errorCode: 2002 },
  ])
  door.roles.setStoreUnavailable('balances', true)
  try {
    expect((await door.call(money.token, ADJUST, adjustment())).status).not.toBe(200)
  } finally {
    door.roles.setStoreUnavailable('balances', false)
  }
  expect((await entriesOf({ principalId: money.id }))[0]).toMatchObject({ outcome: 'AUDIT_OUTCOME_UNKNOWN' })
})

// O16, O2
test('one entry is read by its id, by administrators only', async () => {
  const money = await door.newPrincipal(['money'])
  await door.call(money.token, ADJUST, adjustment())
  const [entry] = await entriesOf({ principalId: money.id })
  const { auditId } = entry
  expect((await door.call(admin.token, GET, { auditId })).body).toEqual({ entry })
  for (const [request, code] of [
    [{ auditId: 'none' }, 'not_found'],
    [{}, 'invalid_argument'],
  ] as const)
    expect((await door.call(admin.token, GET, request)).body.code).toBe(code)
  const developer = await door.newPrincipal(['read', 'reveal'], merchant_id)
  for (const { token } of [money, developer])
    for (const id of [auditId, 'none'])
      expect((await door.call(token, GET, { auditId: id })).body).toMatchObject({ code: 'permission_denied' })
})

// O16: what a list shows of an entry selects it.
test('entries are selected by the end of the name of an RPC and by the name of a principal', async () => {
  const money = await door.newPrincipal(['money', 'rotate'])
  await door.call(money.token, ADJUST, adjustment())
  const named = { principalId: 'money rotate' }
  for (const rpc of [ADJUST, 'BalanceService/Adjust', 'Adjust'])
    expect(await entriesOf({ ...named, rpc })).toMatchObject([{ principalId: money.id, rpc: ADJUST }])
  await door.newPrincipal(['money', 'rotate'])
  for (const [filter, reason] of [
    [{ rpc: 'Adjusted' }, 'the name of an RPC'],
    [{ rpc: 'FindAct' }, 'the name of an RPC'],
    [{ rpc: 'RetryEffect' }, 'PaymentService/RetryEffect, '],
    [{ principalId: 'nobody' }, 'the id or the whole name'],
    [named, money.id],
  ] as const)
    expect(JSON.stringify((await door.call(admin.token, LIST, filter)).body)).toContain(reason)
})

// O4: its answer is a link to bytes that can be a passport.
test('a link to a file leaves an entry, although it changes nothing', async () => {
  const support = await door.newPrincipal(['support'])
  const request = { merchantId: merchant_id, environment: 'ENVIRONMENT_TEST', attachmentId: 'none' }
  await door.call(support.token, GET_ATTACHMENT, request)
  expect(await entriesOf({ principalId: support.id })).toMatchObject([{ rpc: GET_ATTACHMENT }])
})

// O4
test('an act on what a merchant owns is among the entries of the merchant, although its request does not name it', async () => {
  const credential = {
    merchantId: merchant_id,
    apiVersion: 'API_VERSION_V1',
    environment: 'ENVIRONMENT_TEST',
    operationId: uuidv7(),
  }
  const created = await door.call(admin.token, CREATE_CREDENTIAL, credential)
  expect(created.status).toBe(200)
  const { applicationId } = created.body.credential
  const other = await door.newPrincipal(['admin'])
  const update = { applicationId, status: 'CREDENTIAL_STATUS_BLOCKED' }
  expect((await door.call(other.token, UPDATE_CREDENTIAL, update)).status).toBe(200)
  expect(await entriesOf({ principalId: other.id, merchantId: merchant_id })).toMatchObject([
    {
      rpc: UPDATE_CREDENTIAL,
      merchantId: merchant_id,
      targets: [{ kind: 'application', id: applicationId }],
    },
  ])
})

// O4: its request does not name what it creates
test('a creation is among the entries of what it created, with every filter of its entry, and once', async () => {
  const creator = await door.newPrincipal(['admin'])
  const named = {
    name: 'created',
    timezone: 'UTC',
    environments: ['ENVIRONMENT_TEST'],
    operationId: uuidv7(),
  }
  const rpc = 'multihub.merchants.v1.MerchantService/CreateMerchant'
  const { body } = await door.call(creator.token, rpc, named)
  const { merchantId } = body.merchant
  const scope = { merchantId, environment: 'ENVIRONMENT_TEST' }
  const credential = { ...scope, apiVersion: 'API_VERSION_V1', operationId: uuidv7() }
  const created = await door.call(creator.token, CREATE_CREDENTIAL, credential)
  const { applicationId } = created.body.credential
  await door.call(creator.token, UPDATE_CREDENTIAL, { applicationId, dailyLimit: '7' })

  const of_merchant = { targetKind: 'merchant', targetId: merchantId }
  const [entry] = await entriesOf({ rpc, ...of_merchant })
  expect(entry).toMatchObject({ merchantId, targets: [{ kind: 'merchant', id: merchantId }] })
  for (const filter of [
    {},
    { principalId: creator.id },
    { merchantId },
    { principalId: creator.id, merchantId },
  ])
    expect(await entriesOf({ ...filter, rpc, ...of_merchant })).toEqual([entry])
  expect(await entriesOf({ rpc, merchantId })).toEqual([entry])
  expect(await entriesOf({ rpc, ...of_merchant, merchantId: merchant_id })).toEqual([])

  const of_application = { targetKind: 'application', targetId: applicationId }
  const rpcsOf = async (filter: object) => (await entriesOf(filter)).map((one) => one.rpc)
  const both = [UPDATE_CREDENTIAL, CREATE_CREDENTIAL]
  expect(await rpcsOf(of_application)).toEqual(both)
  expect(await rpcsOf({ ...of_application, merchantId, principalId: creator.id })).toEqual(both)
  expect(await rpcsOf({ targetKind: 'application', principalId: creator.id })).toEqual(both)
  expect(await rpcsOf({ merchantId })).toEqual([...both, rpc])
  const page = await door.call(admin.token, LIST, { ...of_application, pageSize: 1 })
  const { nextPageToken: pageToken } = page.body
  const next = await door.call(admin.token, LIST, { ...of_application, pageSize: 1, pageToken })
  expect([page, next].map(({ body: { entries } }) => entries[0].rpc)).toEqual(both)
  expect(next.body.nextPageToken).toBe('')
  expect((await door.call(admin.token, VERIFY, {})).body).toMatchObject({ consistent: true })
})

// O4
test('an act leaves one entry, with who, what, why and what came of it', async () => {
  const money = await door.newPrincipal(['money'])
  const answer = await door.call(money.token, ADJUST, adjustment())
  expect(answer.status).toBe(200)
  const entries = await entriesOf({ principalId: money.id })
  expect(entries).toHaveLength(1)
  expect(entries[0]).toMatchObject({
    principalName: 'money',
    rpc: ADJUST,
    merchantId: merchant_id,
    targets: [
      { kind: 'merchant', id: merchant_id },
      { kind: 'entry', id: answer.body.entry.entryId },
    ],
    reason: 'month end',
    outcome: 'AUDIT_OUTCOME_DONE',
    requestId: expect.stringMatching(/./),
  })
  expect(JSON.parse(entries[0].request)).toMatchObject({ amount: { minor: '500', currency: 'INR' } })
  expect(await entriesOf({ principalId: money.id, targetKind: 'merchant', targetId: merchant_id })).toEqual(
    entries,
  )
  expect(await entriesOf({ principalId: money.id, rpc: VERIFY })).toEqual([])
})

// O4
test('a refusal has the code of the owner, and changes nothing', async () => {
  const money = await door.newPrincipal(['money'])
  await door.call(money.token, ADJUST, adjustment({ amount: { minor: '0', currency: 'INR' } }))
  const reason_header = { 'x-multihub-reason': '%' }
  const rotate = 'multihub.backoffice.v1.PrincipalService/RotateToken'
  await door.call(admin.token, rotate, { principalId: money.id }, reason_header)
  expect(await entriesOf({ principalId: money.id })).toMatchObject([
    { rpc: ADJUST, outcome: 'AUDIT_OUTCOME_REFUSED', errorCode: expect.any(Number) },
  ])
  const [refused] = await entriesOf({ rpc: rotate, targetKind: 'principal', targetId: money.id })
  expect(refused).toMatchObject({ outcome: 'AUDIT_OUTCOME_REFUSED', principalId: admin.id })
})

// O4
test('no secret is in an entry', async () => {
  const { body } = await door.call(
    admin.token,
    CREATE_CREDENTIAL,
    {
      merchantId: merchant_id,
      environment: 'ENVIRONMENT_TEST',
      apiVersion: 'API_VERSION_V1',
      operationId: uuidv7(),
    },
    { 'x-multihub-reason': encodeURIComponent('für Ä') },
  )
  const [entry] = await entriesOf({ rpc: CREATE_CREDENTIAL })
  expect(entry.reason).toBe('für Ä')
  expect(body.secret).toMatch(/./)
  expect(JSON.stringify(entry)).not.toContain(body.secret)
})

// O16
test('a read leaves no entry', async () => {
  const reader = await door.newPrincipal(['read'])
  await door.call(reader.token, 'multihub.merchants.v1.MerchantService/ListMerchants', {})
  expect(await entriesOf({ principalId: reader.id })).toEqual([])
})

// O1, O14
test('each RPC without its right is refused, and the refusal is audited', async () => {
  const reader = await door.newPrincipal(['read'])
  const closed = OPERATOR_RPCS.filter(
    ({ method, rights }) => isUnary(method) && !hasRight(['read'], rights),
  ).map(({ method }) => nameOfRpc(method))
  expect(closed.length).toBeGreaterThan(30)
  for (const rpc of closed) expect((await door.call(reader.token, rpc, {})).status).toBe(403)
  const entries = await entriesOf({ principalId: reader.id })
  expect(entries.map(({ rpc }) => rpc).sort()).toEqual(closed.sort())
  expect(entries.every(({ outcome }) => outcome === 'AUDIT_OUTCOME_REFUSED')).toBe(true)
})

test('an owner that cannot be reached leaves the outcome unknown', async () => {
  const money = await door.newPrincipal(['money'])
  door.roles.setStoreUnavailable('balances', true)
  try {
    expect((await door.call(money.token, ADJUST, adjustment())).status).toBe(503)
  } finally {
    door.roles.setStoreUnavailable('balances', false)
  }
  expect(await entriesOf({ principalId: money.id })).toMatchObject([
    { outcome: 'AUDIT_OUTCOME_UNKNOWN', errorCode: 2002 },
  ])
})

// O4
test('without its own store the back office does nothing', async () => {
  const money = await door.newPrincipal(['money'])
  const of_merchant = { merchantId: merchant_id, environment: 'ENVIRONMENT_TEST' }
  const before = await door.call(money.token, GET_BALANCES, of_merchant)
  door.roles.setStoreUnavailable('backoffice', true)
  try {
    expect((await door.call(money.token, ADJUST, adjustment())).status).toBe(503)
  } finally {
    door.roles.setStoreUnavailable('backoffice', false)
  }
  expect((await door.call(money.token, GET_BALANCES, of_merchant)).body).toEqual(before.body)
})

// O16
test('the audit trail verifies, and page tokens belong to their list', async () => {
  const { body } = await door.call(admin.token, VERIFY, {})
  expect(body).toEqual({ consistent: true, entries: expect.stringMatching(/^[1-9]/), problems: [] })
  const page = await door.call(admin.token, LIST, { pageSize: 1 })
  expect(page.body.entries).toHaveLength(1)
  const pageToken = page.body.nextPageToken
  const next = await door.call(admin.token, LIST, { pageSize: 1, pageToken })
  expect(next.body.entries[0].auditId).not.toBe(page.body.entries[0].auditId)
  expect((await door.call(admin.token, LIST, { pageSize: 1, pageToken, rpc: ADJUST })).status).toBe(400)
  expect((await door.call(admin.token, LIST, { targetId: 'x' })).status).toBe(400)
})
