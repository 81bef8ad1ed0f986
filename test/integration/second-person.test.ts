import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { doorOf, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

const APPROVALS = 'multihub.backoffice.v1.ApprovalService'
const BALANCES = 'multihub.balances.v1.BalanceService'
const REFUNDS = 'multihub.support.v1.RefundService'
const CHARGEBACKS = 'multihub.support.v1.ChargebackService'
const LIMIT = 500_000

type Person = Readonly<{ id: string; token: string }>

let system: SupportSystem
let door: TestDoor
let shop: SupportClient
let proposer: Person
let second: Person
beforeAll(async () => {
  system = await startSupport()
  door = doorOf(system.roles)
  shop = await system.newMerchant()
  const admin = await door.newPrincipal(['admin'])
  proposer = await door.newPrincipal(['money'])
  second = await door.newPrincipal(['money'])
  for (const rpc of [`${REFUNDS}/ApproveRefund`, `${CHARGEBACKS}/MoveChargeback`]) {
    const policy = { rpc, currency: 'INR', aboveMinor: String(LIMIT) }
    await door.call(admin.token, `${APPROVALS}/SetApprovalPolicy`, policy)
  }
})
afterAll(async () => system[Symbol.asyncDispose]())

/** A deposit that its customer has paid. */
async function paidDeposit(): Promise<{ readonly c_id: string; readonly h_id: string }> {
  const identifiers = await shop.deposit()
  const { c_id } = identifiers
  await eventually(
    () => shop.call('payment.status', { payment: { identifiers: { c_id } } }),
    (response) => response?.body.result.payment.status.final,
  )
  return identifiers
}

/** A refund of this amount that waits for the operator. */
async function newRefund(value: number): Promise<string> {
  const { c_id } = await paidDeposit()
  const amount = String(value)
  const { body } = await shop.call('refund.request', {
    identifiers: { c_id: randomUUID() },
    payment: { c_id },
    amount,
  })
  return body.result.identifiers.h_id
}

/** The typed detail of a refusal. */
function detailOf(body: {
  readonly details?: readonly { readonly debug: { readonly detailsJson: string } }[]
}) {
  return JSON.parse(body.details?.[0]?.debug.detailsJson ?? '{}')
}

// O17
test('a policy on ApproveRefund looks at the amount of the refund', async () => {
  const approve = (refundId: string) => door.call(proposer.token, `${REFUNDS}/ApproveRefund`, { refundId })
  expect((await approve(await newRefund(LIMIT))).status).toBe(200)
  const large = await newRefund(LIMIT + 1)
  const { body } = await approve(large)
  expect(detailOf(body)).toMatchObject({ status: 'pending' })
  const { approval_id: approvalId } = detailOf(body)
  const { body: shown } = await door.call(second.token, `${APPROVALS}/GetApproval`, { approvalId })
  expect(shown.approval.amount).toEqual({ minor: String(LIMIT + 1), currency: 'INR' })
  const decision = { approvalId, reason: 'the customer has sent the goods back' }
  expect((await door.call(second.token, `${APPROVALS}/Approve`, decision)).status).toBe(200)
  const { body: after } = await door.call(second.token, `${REFUNDS}/GetRefund`, { refundId: large })
  expect(after.refund.status).not.toBe('REFUND_STATUS_PENDING')
})

// O5.8: lists and numbers have what somebody can still approve.
test('a refund that was canceled leaves neither a pending refund nor a pending approval', async () => {
  const call = async (rpc: string, request: object) => (await door.call(second.token, rpc, request)).body
  const idsOf = async (): Promise<readonly [refunds: string[], approvals: string[]]> => {
    const { refunds = [] } = await call(`${REFUNDS}/ListRefunds`, { statuses: ['REFUND_STATUS_PENDING'] })
    const pending = { status: 'APPROVAL_STATUS_PENDING' }
    const { approvals = [] } = await call(`${APPROVALS}/ListApprovals`, pending)
    return [
      refunds.map((one: { readonly refundId: string }) => one.refundId),
      approvals.map((one: { readonly approvalId: string }) => one.approvalId),
    ]
  }
  const approve = (refundId: string) => door.call(proposer.token, `${REFUNDS}/ApproveRefund`, { refundId })
  const refunds = [await newRefund(LIMIT + 1), await newRefund(LIMIT + 1)] as const
  const approvals: string[] = []
  for (const refundId of refunds) {
    approvals.push(detailOf((await approve(refundId)).body).approval_id)
    // A repetition is no other proposal.
    expect(detailOf((await approve(refundId)).body)).toMatchObject({ approval_id: approvals.at(-1) })
  }
  const [canceled, kept] = refunds
  await call(`${REFUNDS}/CancelRefund`, { refundId: canceled, reason: 'asked twice' })
  await eventually(
    idsOf,
    (ids) => ids !== undefined && JSON.stringify(ids) === JSON.stringify([[kept], approvals.slice(1)]),
  )
  const { approval } = await call(`${APPROVALS}/GetApproval`, { approvalId: approvals[0] })
  expect(approval.status).toBe('APPROVAL_STATUS_OBSOLETE')
  const decision = { approvalId: approvals[0], reason: 'too late' }
  expect(detailOf(await call(`${APPROVALS}/Approve`, decision))).toMatchObject({ status: 'obsolete' })
  // Its owner says what has become of it, and nothing more is proposed.
  expect((await approve(canceled)).body.code).toBe('failed_precondition')
  await call(`${APPROVALS}/Approve`, { approvalId: approvals[1], reason: 'checked' })
  expect((await approve(kept)).status).toBe(200)
  expect(await idsOf()).toEqual([[], []])
})

test('a refund that does not exist is NOT_FOUND also with a policy, and nothing is proposed', async () => {
  const answer = await door.call(proposer.token, `${REFUNDS}/ApproveRefund`, { refundId: randomUUID() })
  expect(answer.body.code).toBe('not_found')
})

/** A chargeback of this amount. */
async function newChargeback(minor: number): Promise<string> {
  const { h_id: paymentId } = await paidDeposit()
  const { body } = await door.call(proposer.token, `${CHARGEBACKS}/OpenChargeback`, {
    paymentId,
    amount: { minor: String(minor), currency: 'INR' },
    reasonCode: '10.4',
    operationId: randomUUID(),
  })
  return body.chargeback.chargebackId
}

// O5.2
test('a policy on MoveChargeback looks at the amount of the chargeback', async () => {
  const win = (chargebackId: string) =>
    door.call(proposer.token, `${CHARGEBACKS}/MoveChargeback`, {
      chargebackId,
      status: 'CHARGEBACK_STATUS_WON',
    })
  expect((await win(await newChargeback(LIMIT))).body.chargeback.status).toBe('CHARGEBACK_STATUS_WON')
  const chargebackId = await newChargeback(LIMIT + 1)
  const { body } = await win(chargebackId)
  expect(detailOf(body)).toMatchObject({ status: 'pending' })
  const { approval_id: approvalId } = detailOf(body)
  const { body: shown } = await door.call(second.token, `${APPROVALS}/GetApproval`, { approvalId })
  expect(shown.approval.amount).toEqual({ minor: String(LIMIT + 1), currency: 'INR' })
  const decision = { approvalId, reason: 'the bank has found for the merchant' }
  expect((await door.call(second.token, `${APPROVALS}/Approve`, decision)).status).toBe(200)
  const { body: after } = await door.call(second.token, `${CHARGEBACKS}/GetChargeback`, { chargebackId })
  expect(after.chargeback.status).toBe('CHARGEBACK_STATUS_WON')
})

// O5.2
test('the preview of a settlement needs nobody else, and no field of a settlement makes it one', async () => {
  const admin = await door.newPrincipal(['admin'])
  const rpc = `${BALANCES}/Settle`
  await door.call(admin.token, `${APPROVALS}/SetApprovalPolicy`, { rpc, currency: 'INR', aboveMinor: '0' })
  const { merchant_id: merchantId } = shop
  const operationId = randomUUID()
  const scope = { merchantId, environment: 'ENVIRONMENT_TEST', currency: 'INR' }
  const settle = (fields: object) => door.call(proposer.token, rpc, { ...scope, operationId, ...fields })
  const preview = () => door.call(proposer.token, `${BALANCES}/PreviewSettlement`, scope)
  const shown = { status: 200, body: { settlementPeriod: '1' } }
  expect(await preview()).toMatchObject(shown)
  expect((await settle({ dryRun: true })).body).toMatchObject({ code: 'invalid_argument' })
  expect(detailOf((await settle({})).body)).toMatchObject({ status: 'pending' })
  expect(await preview()).toMatchObject(shown)
})
