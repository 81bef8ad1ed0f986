import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { ResolveAnomalyRequestSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Principal } from '../../domain/principal.ts'
import type { Right } from '../../domain/rights.ts'
import { type Approval, propose } from '../domain/approval.ts'
import { checkDecider, decideApproval } from './decide-approval.ts'

const { PAID } = AnomalyResolutionKind

function principal(rights: readonly Right[], fields: Partial<Principal> = {}): Principal {
  return {
    principal_id: 'second',
    name: 'second',
    kind: 'person',
    rights,
    status: 'active',
    tokens: [],
    created_at: new Date(0),
    updated_at: new Date(0),
    ...fields,
  }
}

/** A decision about an anomaly that waits for a second person. */
function proposal(): Approval {
  const request = create(ResolveAnomalyRequestSchema, { anomalyId: 'a', resolution: PAID })
  return propose(
    {
      approval_id: 'one',
      rpc: 'multihub.payments.v1.PaymentService/ResolveAnomaly',
      request: toBinary(ResolveAnomalyRequestSchema, request),
      shown_request: '{}',
      proposer_id: 'proposer',
    },
    now(),
  )
}

/** Decides about one stored approval. */
function decider(proposer: Principal) {
  let stored = proposal()
  return (decider_id: string, status: 'approved' | 'rejected' = 'approved') =>
    decideApproval(
      {
        approvals: {
          get: async () => stored,
          async update(_id, change) {
            stored = change(stored) ?? stored
            return stored
          },
        },
        getPrincipal: async () => proposer,
      },
      { approval_id: 'one', status, decider_id, reason: 'checked' },
    )
}

// O5, O14: `support` opens ResolveAnomaly and `admin` opens Approve; neither alone decides about money.
test('the second person has the right that this very request needs, and sees all merchants', () => {
  checkDecider(proposal(), principal(['money']))
  for (const refused of [
    principal(['admin', 'support']),
    principal(['money'], { merchant_id: '1000' }),
    principal(['money'], { status: 'revoked' }),
    principal(['money'], { expires_at: new Date(0) }),
    principal(['money'], { kind: 'program' }),
    principal(['money'], { principal_id: 'proposer' }),
  ])
    expect(() => checkDecider(proposal(), refused)).toThrow()
})

// O5
test.each([
  ['was revoked', principal(['money'], { status: 'revoked' })],
  ['has expired', principal(['money'], { expires_at: new Date(0) })],
  ['has the right for another decision only', principal(['support'])],
])('what somebody proposed who %s is not approved, but can be rejected', async (_why, proposer) => {
  const decide = decider(proposer)
  await expect(decide('second')).rejects.toMatchObject({ code: 8801 })
  expect(await decide('second', 'rejected')).toMatchObject({ status: 'rejected', decider_id: 'second' })
})

// O5: its entry in the audit trail would else say that it has decided.
test('a third person that approves what was approved is refused, and the second may repeat it', async () => {
  const decide = decider(principal(['money']))
  expect(await decide('second')).toMatchObject({ status: 'approved', decider_id: 'second' })
  await expect(decide('third')).rejects.toMatchObject({ code: 8801, details: { status: 'approved' } })
  await expect(decide('third', 'rejected')).rejects.toMatchObject({ code: 8801 })
  expect(await decide('second')).toMatchObject({ status: 'approved', decider_id: 'second' })
})
