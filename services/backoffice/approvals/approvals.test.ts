import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ActService } from '#gen/multihub/backoffice/v1/act_service_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { role as balances } from '../../balances/service.ts'
import { role as merchants } from '../../merchants/service.ts'
import { type DoorAnswer, startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { APPROVAL_HEADER } from '../rpc/principal-service.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const GET_BALANCES = 'multihub.balances.v1.BalanceService/GetBalances'
const APPROVALS = 'multihub.backoffice.v1.ApprovalService'
const CREATE_PRINCIPAL = 'multihub.backoffice.v1.PrincipalService/CreatePrincipal'
const UPDATE_PRINCIPAL = 'multihub.backoffice.v1.PrincipalService/UpdatePrincipal'
const ROTATE_TOKEN = 'multihub.backoffice.v1.PrincipalService/RotateToken'
const LIST_AUDIT = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
const LIMIT = 1_000n

type Person = Readonly<{ id: string; token: string }>

let door: TestDoor
let admin: Person
let proposer: Person
let second: Person
let third: Person
beforeAll(async () => {
  door = await startDoor([merchants, balances])
  admin = await door.newPrincipal(['admin', 'money'])
  proposer = await door.newPrincipal(['money'])
  second = await door.newPrincipal(['money'])
  third = await door.newPrincipal(['money', 'admin'])
  const policy = { rpc: ADJUST, currency: 'INR', aboveMinor: String(LIMIT) }
  const set = await door.call(admin.token, `${APPROVALS}/SetApprovalPolicy`, policy)
  expect(set).toMatchObject({ status: 200, body: { policy } })
})
afterAll(async () => door[Symbol.asyncDispose]())

async function newMerchant(): Promise<string> {
  const { merchant } = await door.roles.client(MerchantService, 'backoffice').createMerchant({
    name: 'alpha',
    timezone: 'UTC',
    environments: [Environment.TEST],
    operationId: uuidv7(),
  })
  return merchant?.merchantId ?? ''
}

async function adjust(
  by: Person,
  merchantId: string,
  minor: bigint,
  operationId = uuidv7(),
): Promise<DoorAnswer> {
  return await door.call(by.token, ADJUST, {
    merchantId,
    environment: 'ENVIRONMENT_TEST',
    amount: { minor: String(minor), currency: 'INR' },
    operationId,
    reason: 'correction',
  })
}

async function availableOf(merchantId: string): Promise<string> {
  const { body } = await door.call(admin.token, GET_BALANCES, { merchantId, environment: 'ENVIRONMENT_TEST' })
  return body.balances?.[0]?.available?.minor ?? body.balances?.[0]?.available ?? '0'
}

/** What the typed detail of a refusal says. */
function detailOf({ body }: DoorAnswer): { readonly approval_id: string; readonly status: string } {
  return JSON.parse(body.details?.[0]?.debug?.detailsJson ?? '{}')
}

async function decide(by: Person, verb: 'Approve' | 'Reject', approvalId: string): Promise<DoorAnswer> {
  return await door.call(by.token, `${APPROVALS}/${verb}`, { approvalId, reason: 'checked with the bank' })
}

async function propose(merchantId: string, minor = 5_000n, operationId = uuidv7()): Promise<string> {
  const answer = await adjust(proposer, merchantId, minor, operationId)
  expect(answer).toMatchObject({ status: 400, body: { code: 'failed_precondition' } })
  const { approval_id, status } = detailOf(answer)
  expect(status).toBe('pending')
  return approval_id
}

// O5, O17
test('above a policy nothing changes until a second person approves, and then once', async () => {
  const merchant = await newMerchant()
  expect((await adjust(proposer, merchant, LIMIT)).status).toBe(200)
  expect(await availableOf(merchant)).toBe('1000')
  const operation_id = uuidv7()
  const id = await propose(merchant, 5_000n, operation_id)
  const { body } = await door.call(admin.token, LIST_AUDIT, { pageSize: 1, merchantId: merchant })
  // The proposal keeps its act, so that a process that is lost now leaves no unknown outcome (O4).
  const { isDone } = await door.roles
    .client(ActService, 'backoffice')
    .findAct({ auditId: body.entries[0].auditId, rpc: ADJUST, request: '{}' })
  expect(isDone).toBe(true)
  expect(await propose(merchant, 5_000n, operation_id)).toBe(id)
  expect(await propose(merchant, -5_000n)).not.toBe(id)
  expect(await availableOf(merchant)).toBe('1000')
  // Another request under the same operation id is not what somebody would approve.
  expect((await adjust(proposer, merchant, 1n, operation_id)).body.code).toBe('aborted')
  expect(await decide(second, 'Approve', id)).toMatchObject({
    status: 200,
    body: {
      approval: {
        status: 'APPROVAL_STATUS_EXECUTED',
        proposerId: proposer.id,
        deciderId: second.id,
        errorCode: 0,
      },
    },
  })
  expect(await availableOf(merchant)).toBe('6000')
  expect((await adjust(proposer, merchant, 5_000n, operation_id)).status).toBe(200)
  expect((await decide(second, 'Approve', id)).status).toBe(200)
  expect(await availableOf(merchant)).toBe('6000')
})

// O5
test('the proposer, a program, and a person without the right decide about nothing', async () => {
  const merchant = await newMerchant()
  const id = await propose(merchant)
  const reader = await door.newPrincipal(['read'])
  const only_admin = await door.newPrincipal(['admin'])
  const program = await door.roles.client(PrincipalService, 'backoffice').createPrincipal({
    name: 'robot',
    kind: PrincipalKind.PROGRAM,
    rights: ['money'],
    operationId: uuidv7(),
  })
  for (const person of [proposer, reader, only_admin, { id: '', token: program.token }])
    expect((await decide(person, 'Approve', id)).body.code).toBe('permission_denied')
  expect((await decide(second, 'Approve', 'nothing')).body.code).toBe('not_found')
  expect((await decide(second, 'Reject', id)).body.approval.status).toBe('APPROVAL_STATUS_REJECTED')
  const late = await decide(third, 'Approve', id)
  expect([late.body.code, detailOf(late).status]).toEqual(['failed_precondition', 'rejected'])
  expect(await availableOf(merchant)).toBe('0')
})

// O5
test('what a proposer without the right any more has proposed is not approved, but can be rejected', async () => {
  const merchant = await newMerchant()
  const leaver = await door.newPrincipal(['money'])
  const { approval_id } = detailOf(await adjust(leaver, merchant, LIMIT + 1n))
  const update = { principalId: leaver.id, rights: ['read'] }
  await door.roles.client(PrincipalService, 'backoffice').updatePrincipal(update)
  const refused = await decide(second, 'Approve', approval_id)
  expect(refused.body).toMatchObject({ code: 'failed_precondition' })
  expect(await availableOf(merchant)).toBe('0')
  expect((await decide(second, 'Reject', approval_id)).status).toBe(200)
})

// O5
test('of many who approve and reject at once one decides, and the call is executed at most once', async () => {
  const merchant = await newMerchant()
  let expected = 0n
  for (let round = 0; round < 5; round += 1) {
    const operation_id = uuidv7()
    const id = await propose(merchant, 5_000n, operation_id)
    const people = [second, third, admin]
    const answers = await Promise.all([
      ...people.flatMap((one) => [
        decide(one, 'Approve', id),
        decide(one, 'Reject', id),
        decide(one, 'Approve', id),
      ]),
      adjust(proposer, merchant, 5_000n, operation_id),
    ])
    const { body } = await door.call(admin.token, `${APPROVALS}/GetApproval`, { approvalId: id })
    const { status } = body.approval
    expect(['APPROVAL_STATUS_EXECUTED', 'APPROVAL_STATUS_REJECTED']).toContain(status)
    const deciders = answers.filter((one) => one.body.approval).map((one) => one.body.approval.deciderId)
    expect(new Set(deciders).size).toBe(1)
    if (status === 'APPROVAL_STATUS_EXECUTED') expected += 5_000n
    expect(await availableOf(merchant)).toBe(String(expected))
  }
})

// O5
test('what was approved while the owner could not be reached is executed later, once', async () => {
  const merchant = await newMerchant()
  const id = await propose(merchant)
  door.roles.setStoreUnavailable('balances', true)
  try {
    expect((await decide(second, 'Approve', id)).body.approval.status).toBe('APPROVAL_STATUS_APPROVED')
  } finally {
    door.roles.setStoreUnavailable('balances', false)
  }
  await eventually(
    async () =>
      (await door.call(admin.token, `${APPROVALS}/GetApproval`, { approvalId: id })).body.approval.status,
    (status) => status === 'APPROVAL_STATUS_EXECUTED',
  )
  expect(await availableOf(merchant)).toBe('5000')
})

// O4, O16
test('a proposal and its approval are two entries of the audit trail', async () => {
  const merchant = await newMerchant()
  const id = await propose(merchant)
  await decide(second, 'Approve', id)
  const of_proposer = await door.call(admin.token, LIST_AUDIT, {
    principalId: proposer.id,
    merchantId: merchant,
  })
  expect(of_proposer.body.entries).toMatchObject([
    { outcome: 'AUDIT_OUTCOME_PENDING_APPROVAL', approvalId: id },
  ])
  const of_second = await door.call(admin.token, LIST_AUDIT, {
    principalId: second.id,
    targetKind: 'approval',
    targetId: id,
  })
  expect(of_second.body.entries).toMatchObject([
    {
      rpc: `${APPROVALS}/Approve`,
      outcome: 'AUDIT_OUTCOME_DONE',
      approvalId: id,
      reason: 'checked with the bank',
    },
  ])
})

describe('while a policy exists', () => {
  const policy = (fields: object): object => ({ rpc: ADJUST, currency: 'INR', ...fields })

  // O5
  test('making one stricter needs one person, loosening and removing two', async () => {
    const set = async (fields: object): Promise<DoorAnswer> =>
      await door.call(admin.token, `${APPROVALS}/SetApprovalPolicy`, policy(fields))
    expect((await set({ aboveMinor: '900' })).status).toBe(200)
    for (const fields of [{ aboveMinor: '1000' }, {}]) {
      const answer = await set(fields)
      expect([answer.body.code, detailOf(answer).status]).toEqual(['failed_precondition', 'pending'])
    }
    const removal = detailOf(await set({}))
    expect((await decide(third, 'Reject', removal.approval_id)).status).toBe(200)
    // What was rejected can be proposed again.
    const again = detailOf(await set({}))
    expect([again.status, again.approval_id === removal.approval_id]).toEqual(['pending', false])
    const { approval_id } = detailOf(await set({ aboveMinor: '1000' }))
    expect((await decide(second, 'Approve', approval_id)).body.code).toBe('permission_denied')
    expect((await decide(third, 'Approve', approval_id)).status).toBe(200)
    const { body } = await door.call(admin.token, `${APPROVALS}/ListApprovalPolicies`, {})
    expect(body.policies).toEqual([policy({ aboveMinor: '1000' })])
    expect((await set({ rpc: CREATE_PRINCIPAL, aboveMinor: '1' })).body.code).toBe('invalid_argument')
  })

  // O5: the door has compared it with a policy that a colleague made stricter just then.
  test('what loosens the policy of the moment of the write is refused', async () => {
    const { setApprovalPolicy } = door.roles.client(ApprovalService, 'backoffice')
    for (const aboveMinor of [LIMIT + 1n, undefined])
      await expect(setApprovalPolicy({ rpc: ADJUST, currency: 'INR', aboveMinor })).rejects.toMatchObject({
        code: 8801,
      })
    expect(await setApprovalPolicy({ rpc: ADJUST, currency: 'INR', aboveMinor: LIMIT })).toMatchObject({
      policy: { aboveMinor: LIMIT },
    })
  })

  // O5
  test('nobody alone makes a power last longer', async () => {
    const helper = await door.newPrincipal(['money'])
    const reader = await door.newPrincipal(['read'])
    const update = async ({ id }: Person, fields: object): Promise<DoorAnswer> =>
      await door.call(admin.token, UPDATE_PRINCIPAL, { principalId: id, ...fields })
    const expiresAt = new Date(now().getTime() + 86_400_000).toISOString()
    for (const fields of [{ expiresAt }, { neverExpires: true }]) {
      expect(detailOf(await update(helper, fields)).status).toBe('pending')
      expect((await update(reader, fields)).status).toBe(200)
    }
    expect((await update(helper, { name: 'renamed' })).status).toBe(200)
  })

  // O5.4: two processes may execute one approval, and either may be lost before it has stored that.
  test('a repeated approved call brings back nothing that was changed after it', async () => {
    const headers = { [APPROVAL_HEADER]: uuidv7() }
    const reader = await door.newPrincipal(['read'])
    const { updatePrincipal, revokePrincipal } = door.roles.client(PrincipalService, 'backoffice')
    const approved = { principalId: reader.id, rights: ['money'] }
    expect((await updatePrincipal(approved, { headers })).principal?.rights).toEqual(['money'])
    await updatePrincipal({ principalId: reader.id, rights: ['read'] })
    expect((await updatePrincipal(approved, { headers })).principal?.rights).toEqual(['read'])
    await revokePrincipal({ principalId: reader.id, reason: 'left' })
    expect((await updatePrincipal(approved, { headers })).principal?.rights).toEqual(['read'])

    const { setApprovalPolicy, listApprovalPolicies } = door.roles.client(ApprovalService, 'backoffice')
    const loose = { rpc: ADJUST, currency: 'JPY', aboveMinor: 9n }
    await setApprovalPolicy(loose, { headers })
    await setApprovalPolicy({ ...loose, aboveMinor: 1n })
    await setApprovalPolicy(loose, { headers })
    const { policies } = await listApprovalPolicies({})
    expect(policies.find(({ currency }) => currency === 'JPY')?.aboveMinor).toBe(1n)
  })

  // O5
  test('nobody makes an accomplice alone', async () => {
    const create = async (rights: readonly string[]): Promise<DoorAnswer> =>
      await door.call(admin.token, CREATE_PRINCIPAL, {
        name: 'new',
        kind: 'PRINCIPAL_KIND_PERSON',
        rights,
        operationId: uuidv7(),
      })
    expect((await create(['read', 'support'])).status).toBe(200)
    for (const right of ['money', 'admin']) expect(detailOf(await create([right])).status).toBe('pending')
    const reader = await door.newPrincipal(['read'])
    const update = { principalId: reader.id, rights: ['money'] }
    const answer = await door.call(admin.token, UPDATE_PRINCIPAL, update)
    expect(detailOf(answer).status).toBe('pending')
    expect((await decide(third, 'Approve', detailOf(answer).approval_id)).status).toBe(200)
    const { body } = await door.call(reader.token, 'multihub.backoffice.v1.PrincipalService/WhoAmI', {})
    expect(body.principal.rights).toEqual(['money'])
  })
})

// O5
test('while a policy exists, nobody gets the token of another principal with money or admin', async () => {
  const rotate = async (principalId: string): Promise<DoorAnswer> =>
    await door.call(admin.token, ROTATE_TOKEN, { principalId, overlapSeconds: 60 })
  const answer = await rotate(second.id)
  expect([answer.body.code, answer.body.token]).toEqual(['failed_precondition', undefined])
  const reader = await door.newPrincipal(['read'])
  expect((await rotate(reader.id)).status).toBe(200)
  const operationId = uuidv7()
  const fields = { name: 'new', kind: 'PRINCIPAL_KIND_PERSON', rights: ['money'], operationId }
  const proposal = await door.call(admin.token, CREATE_PRINCIPAL, fields)
  await decide(third, 'Approve', detailOf(proposal).approval_id)
  const { body: created } = await door.call(admin.token, CREATE_PRINCIPAL, fields)
  expect(created.token ?? '').toBe('')
  // Its first token, and no second one.
  const first = await rotate(created.principal.principalId)
  expect(first.body.token).toMatch(/^mhp_/)
  expect((await rotate(created.principal.principalId)).body.code).toBe('failed_precondition')
  expect((await rotate(admin.id)).status).toBe(200)
})

// O17
test('lists are by status, in pages', async () => {
  const all = await door.call(admin.token, `${APPROVALS}/ListApprovals`, { pageSize: 100 })
  const rejected = await door.call(admin.token, `${APPROVALS}/ListApprovals`, {
    status: 'APPROVAL_STATUS_REJECTED',
    pageSize: 1,
  })
  expect(all.body.approvals.length).toBeGreaterThan(5)
  expect(rejected.body.approvals).toMatchObject([{ status: 'APPROVAL_STATUS_REJECTED' }])
})
