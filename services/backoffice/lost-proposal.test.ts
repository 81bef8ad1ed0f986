import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { AdjustRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { AUDIT_HEADER } from '#lib/rpc/settings.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { rowOf, startSecondPerson } from './approvals/second-person.ts'
import { openApprovals } from './approvals/store/approvals.ts'
import { intent, listAll, openAuditFixture } from './audit/audit.fixture.ts'
import { COMPLETE_AFTER_MS } from './audit/complete-acts.ts'
import { nameOfRpc } from './domain/operator-rpcs.ts'
import { FIRST_PRINCIPAL } from './door/authenticate.ts'

// O4, O5
test('an act whose process was lost after it stored a proposal is completed as pending, with its approval', async () => {
  await using fixture = await openAuditFixture(
    // The owner was never called, and need not answer.
    async () => {
      throw new Unavailable('the owner does not answer')
    },
    (act) => approvals.findProposal(act),
  )
  const approvals = await openApprovals(keepActs(fixture.store).store)
  const rpc = rowOf(intent().rpc)
  await approvals.setPolicy({ rpc: nameOfRpc(rpc.method), currency: 'INR', above_minor: 100n })
  const callOwner = async () => {
    throw new TypeError('the owner is not called')
  }
  const getPrincipal = async () => FIRST_PRINCIPAL
  const second_person = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  const amount = { minor: 500n, currency: 'INR' }
  const request = create(AdjustRequestSchema, { merchantId: '1', operationId: 'o1', amount })
  const call = { rpc, principal: FIRST_PRINCIPAL, request, reason: undefined }
  const lost = await fixture.audit.begin(intent())
  const refusal = await second_person
    .guard(call, callOwner, () => ({ [AUDIT_HEADER]: lost }))
    .catch((error) => error)
  await second_person.stop()
  expect(refusal).toMatchObject({ code: 8801, details: { status: 'pending' } })
  fixture.advance(10_000 + COMPLETE_AFTER_MS)
  await fixture.audit.completeActs()
  const { approval_id } = refusal.details
  expect(await listAll(fixture.audit)).toMatchObject([
    { audit_id: lost, outcome: 'pending_approval', approval_id },
  ])
  // A decision is kept by the same document, and is no proposal.
  const decision = { audit_id: lost, rpc: 'multihub.backoffice.v1.ApprovalService/Approve' }
  expect(await approvals.findProposal(decision)).toBeUndefined()
  expect(await fixture.audit.verify()).toEqual({ entries: 1n, problems: [] })
})
