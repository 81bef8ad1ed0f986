import { create, type DescMethodUnary, type Message, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { PrincipalStatus } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService, ResolveAnomalyRequestSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { type ApprovalPolicy, needsSecondPerson } from './domain/approval.ts'
import { findMovedMoney, isSubjectOver } from './subjects.ts'

const RPC = 'multihub.payments.v1.PaymentService/ResolveAnomaly'
const POLICIES: readonly ApprovalPolicy[] = [{ rpc: RPC, currency: 'INR', above_minor: 100n }]

async function isHeldBack(resolution: AnomalyResolutionKind, minor?: bigint): Promise<boolean> {
  const rpc = OPERATOR_RPCS.find(({ method }) => method === PaymentService.method.resolveAnomaly)
  if (rpc === undefined) throw new Error('there is no row of ResolveAnomaly')
  const amount = minor === undefined ? {} : { amount: { minor, currency: 'INR' } }
  const request = create(ResolveAnomalyRequestSchema, { anomalyId: 'a', resolution, ...amount })
  const moved = await findMovedMoney(rpc, request, () => Promise.reject(new Error('nothing is looked up')))
  return moved !== undefined && needsSecondPerson(POLICIES, RPC, moved)
}

// O5, O14
test('a decision about an anomaly that moves money needs a second person, and its dismissal does not', async () => {
  const { PAID, NOT_PAID, DECIDED_BY_PROVIDER, DISMISSED } = AnomalyResolutionKind
  for (const kind of [PAID, NOT_PAID, DECIDED_BY_PROVIDER])
    expect([kind, await isHeldBack(kind)]).toEqual([kind, true])
  expect([await isHeldBack(PAID, 100n), await isHeldBack(PAID, 101n)]).toEqual([false, true])
  expect([await isHeldBack(DISMISSED), await isHeldBack(DISMISSED, 101n)]).toEqual([false, false])
})

const { OPEN, UNDER_REVIEW, WON, LOST, ACCEPTED } = ChargebackStatus
const { approveRefund, getRefund } = RefundService.method
const { moveChargeback, getChargeback } = ChargebackService.method

/** The owner that answers one look-up. */
function ownerOf(find: DescMethodUnary, answer: object): CallOwner {
  return async (method) => {
    if (method !== find) throw new Error(`${method.name} is not the look-up`)
    return create<typeof find.output>(find.output, answer as never)
  }
}

const amount = { minor: 500n, currency: 'INR' }
const refundIn = (status: RefundStatus) => ownerOf(getRefund, { refund: { refundId: 'r', status, amount } })
const chargebackIn = (status: ChargebackStatus) =>
  ownerOf(getChargeback, { chargeback: { chargebackId: 'c', status, amount } })

async function movedBy(
  method: DescMethodUnary,
  fields: object,
  owner: CallOwner,
): Promise<bigint | undefined> {
  const rpc = OPERATOR_RPCS.find((one) => one.method === method)
  if (rpc === undefined) throw new Error(`there is no row of ${method.name}`)
  return (await findMovedMoney(rpc, messageOf(method, fields), owner))?.minor
}

const proposalOf = (method: DescMethodUnary) => ({
  rpc: nameOfRpc(method),
  request: toBinary(method.input, messageOf(method, {})),
})

function messageOf({ input }: DescMethodUnary, fields: object): Message {
  return create<typeof input>(input, fields as never)
}

// O5
test('the approval of a refund moves its amount while it waits for a decision, and nothing after that', async () => {
  const { PENDING, APPROVED, REJECTED, CANCELED, COMPLETED, FAILED } = RefundStatus
  expect(await movedBy(approveRefund, { refundId: 'r' }, refundIn(PENDING))).toBe(500n)
  for (const status of [APPROVED, REJECTED, CANCELED, COMPLETED, FAILED])
    expect([status, await movedBy(approveRefund, { refundId: 'r' }, refundIn(status))]).toEqual([
      status,
      undefined,
    ])
})

// O5
test('a chargeback moves its amount until it has the wanted status or has ended', async () => {
  const to = (status: ChargebackStatus, from: ChargebackStatus) =>
    movedBy(moveChargeback, { chargebackId: 'c', status }, chargebackIn(from))
  for (const status of [WON, LOST, ACCEPTED])
    for (const from of [OPEN, UNDER_REVIEW]) expect([status, from, await to(status, from)]).toContain(500n)
  expect([await to(UNDER_REVIEW, OPEN), await to(UNDER_REVIEW, UNDER_REVIEW)]).toEqual([500n, undefined])
  for (const from of [WON, LOST, ACCEPTED]) expect([from, await to(WON, from)]).toContain(undefined)
})

// O5
test('an anomaly that is resolved and a principal that is revoked leave nothing to decide', async () => {
  const { resolveAnomaly, getAnomaly } = PaymentService.method
  const { updatePrincipal, getPrincipal } = PrincipalService.method
  const isOver = (method: DescMethodUnary, find: DescMethodUnary, answer: object): Promise<boolean> =>
    isSubjectOver(proposalOf(method), ownerOf(find, answer))
  expect(await isOver(resolveAnomaly, getAnomaly, { anomaly: {} })).toBe(false)
  expect(await isOver(resolveAnomaly, getAnomaly, { anomaly: { resolution: {} } })).toBe(true)
  for (const [status, expected] of [
    [PrincipalStatus.ACTIVE, false],
    [PrincipalStatus.REVOKED, true],
  ] as const)
    expect(await isOver(updatePrincipal, getPrincipal, { principal: { status } })).toBe(expected)
})

// O5: an approval that somebody can still give must not end because an owner is away.
test('nothing is over while its owner does not answer', async () => {
  const away: CallOwner = () => Promise.reject(new Unavailable('support is away'))
  expect(await isSubjectOver(proposalOf(approveRefund), away)).toBe(false)
})

test('an approval of an RPC that this release does not know, or of no subject, is not over', async () => {
  const none: CallOwner = () => Promise.reject(new Error('nothing is looked up'))
  for (const rpc of ['multihub.x.v1.NewService/Decide', 'multihub.balances.v1.BalanceService/Adjust'])
    expect(await isSubjectOver({ rpc, request: new Uint8Array() }, none)).toBe(false)
})
