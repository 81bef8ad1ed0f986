import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService, ResolveAnomalyRequestSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import { type ApprovalPolicy, needsSecondPerson } from './domain/approval.ts'
import { findMovedMoney } from './moved-money.ts'

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
