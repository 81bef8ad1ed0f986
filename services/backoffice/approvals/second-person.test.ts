import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type Message, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { AdjustRequestSchema, AdjustResponseSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import {
  ApproveRefundRequestSchema,
  ApproveRefundResponseSchema,
  GetRefundResponseSchema,
} from '#gen/multihub/support/v1/refund_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { AUDIT_HEADER } from '#lib/rpc/settings.ts'
import { openStore } from '#lib/store/open.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { openTestStore } from '../../../test/support/store.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { idOf } from '../door/message-fields.ts'
import { APPROVAL_HEADER } from '../rpc/principal-service.ts'
import { approvalId, decide, executed, propose } from './domain/approval.ts'
import { rowOf, startSecondPerson } from './second-person.ts'
import { openApprovals } from './store/approvals.ts'
import { decideApproval } from './use-cases/decide-approval.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const PROPOSER: Principal = {
  principal_id: 'p0',
  name: 'p0',
  kind: 'person',
  rights: ['money'],
  status: 'active',
  tokens: [],
  created_at: new Date(0),
  updated_at: new Date(0),
}

// O5
test('the owner acts once for an approved call, and never for another, whatever is lost on the way', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-approvals-'))
  const store = await openStore({ database: 'backoffice', directory, timeout_ms: HANG_LIMIT_MS })
  const approvals = await openApprovals(store)
  await approvals.setPolicy({ rpc: ADJUST, currency: 'INR', above_minor: 100n })
  const rpc = OPERATOR_RPCS.find(({ method }) => nameOfRpc(method) === ADJUST)
  if (rpc === undefined) throw new Error('there is no row of Adjust')
  /** What the owner has done, and how it loses requests and answers. It acts once per operation id. */
  const acted = new Set<string>()
  let losses: ('request' | 'answer' | 'none')[] = []
  const callOwner = async (_method: unknown, request: object): Promise<Message> => {
    const loss = losses.shift() ?? 'none'
    if (loss !== 'request') acted.add(idOf(request as Message, 'operationId'))
    if (loss !== 'none') throw new Unavailable('lost by the test')
    return create(AdjustResponseSchema)
  }
  const open = () =>
    startSecondPerson({
      approvals,
      getPrincipal: async () => PROPOSER,
      callOwner,
      show: () => '{}',
    })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('approved' as const, 'rejected' as const), { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom('request' as const, 'answer' as const, 'none' as const), { maxLength: 4 }),
      fc.boolean(),
      async (decisions, lost, is_crash) => {
        runs += 1
        losses = [...lost]
        const operationId = `o${runs}`
        const amount = { minor: 500n, currency: 'INR' }
        const request = create(AdjustRequestSchema, { merchantId: '1', operationId, amount })
        const process = open()
        const call = { rpc, principal: PROPOSER, request, reason: undefined }
        const proposed = process.guard(
          call,
          () => callOwner(rpc.method, request),
          () => ({}),
        )
        await expect(proposed).rejects.toMatchObject({ code: 8801, details: { status: 'pending' } })
        expect(acted.has(operationId)).toBe(false)
        const [{ approval_id } = { approval_id: '' }] = (
          await approvals.list('pending', { page_size: 1, page_token: '' })
        ).items
        const deps = { approvals, getPrincipal: async () => PROPOSER }
        await Promise.allSettled(
          decisions.map(async (status, n) => {
            const decision = { approval_id, status, decider_id: `p${n + 1}`, reason: 'checked' }
            const decided = await decideApproval(deps, decision)
            // A process can be lost between the decision and the call.
            if (!is_crash) await process.execute(decided)
          }),
        )
        await process.stop()
        const next = open()
        for (let tries = 0; tries <= lost.length; tries += 1) await next.sweep()
        await next.stop()
        const stored = await approvals.get(approval_id)
        expect(['executed', 'rejected']).toContain(stored?.status)
        expect(acted.has(operationId)).toBe(stored?.status === 'executed')
      },
    ),
    { numRuns: propertyRuns(200) },
  )
  await store.close()
  await rm(directory, { recursive: true, force: true })
}, 120_000)

// O5: lists and numbers have what somebody can still approve.
test('approvals of refunds that were canceled become obsolete, many in turn, and none while support is away', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-approvals-'))
  const store = await openStore({ database: 'backoffice', directory, timeout_ms: HANG_LIMIT_MS })
  const approvals = await openApprovals(store)
  const rpc = 'multihub.support.v1.RefundService/ApproveRefund'
  const ids = Array.from({ length: 45 }, (_, n) => `a${String(n).padStart(2, '0')}`)
  for (const id of ids) {
    const request = toBinary(ApproveRefundRequestSchema, create(ApproveRefundRequestSchema, { refundId: id }))
    const fields = { approval_id: id, rpc, request, shown_request: '{}', proposer_id: 'p0', reason: 'asked' }
    await approvals.insertOrGet(propose(fields, now()))
  }
  let is_away = true
  let asked = 0
  const canceled = new Set(ids.filter((_, n) => n % 3 === 0))
  const process = startSecondPerson({
    approvals,
    getPrincipal: async () => PROPOSER,
    async callOwner(_method, request) {
      asked += 1
      if (is_away) throw new Unavailable('support is away')
      const { refundId } = create(ApproveRefundRequestSchema, request)
      const status = canceled.has(refundId) ? RefundStatus.CANCELED : RefundStatus.PENDING
      return create(GetRefundResponseSchema, { refund: { refundId, status } })
    },
    show: () => '{}',
  })
  await process.stop()
  const idsOf = async (status: 'pending' | 'obsolete'): Promise<string[]> =>
    (await approvals.list(status, { page_size: 100, page_token: '' })).items
      .map(({ approval_id }) => approval_id)
      .sort()
  await process.sweep()
  expect([await idsOf('obsolete'), asked]).toEqual([[], 20])
  is_away = false
  for (let sweeps = 0; sweeps < 4; sweeps += 1) await process.sweep()
  expect(await idsOf('obsolete')).toEqual([...canceled].sort())
  expect(await idsOf('pending')).toEqual(ids.filter((id) => !canceled.has(id)))
  const decision = { approval_id: 'a00', status: 'approved', decider_id: 'p1', reason: 'checked' } as const
  await expect(
    decideApproval({ approvals, getPrincipal: async () => PROPOSER }, decision),
  ).rejects.toMatchObject({
    code: 8801,
    details: { status: 'obsolete' },
  })
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

const APPROVE_REFUND = 'multihub.support.v1.RefundService/ApproveRefund'
const REFUND_REQUEST = toBinary(ApproveRefundRequestSchema, create(ApproveRefundRequestSchema))

/** An approval that is stored as approved by p1, in an act of the audit trail. */
async function approvedCall(
  approvals: Awaited<ReturnType<typeof openApprovals>>,
  { approval_id, rpc, request }: Readonly<{ approval_id: string; rpc: string; request: Uint8Array }>,
) {
  const fields = { approval_id, rpc, request, shown_request: '{}', proposer_id: 'p0', reason: 'asked' }
  await approvals.insertOrGet(propose(fields, now()))
  const decision = { status: 'approved', decider_id: 'p1', reason: 'checked', audit_id: 'act1' } as const
  const approved = await approvals.update(approval_id, (current) => decide(current, decision, now()))
  if (approved === undefined) throw new Error('nothing was approved')
  return approved
}

// O5.4, O5.8
test('an owner that hangs delays neither the calls of another owner nor the marks of obsolete approvals', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  const adjust = toBinary(AdjustRequestSchema, create(AdjustRequestSchema, { operationId: 'o1' }))
  await approvedCall(approvals, { approval_id: 'hangs', rpc: ADJUST, request: adjust })
  const answer = Promise.withResolvers<Message>()
  const hung = Promise.withResolvers<void>()
  const callOwner: CallOwner = async (method) => {
    if (method.name === 'GetRefund')
      return create(GetRefundResponseSchema, { refund: { status: RefundStatus.CANCELED } })
    if (method.name !== 'Adjust') return create(ApproveRefundResponseSchema)
    hung.resolve()
    return answer.promise
  }
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  try {
    await clock.advance(5_000)
    await hung.promise
    await approvedCall(approvals, { approval_id: 'done', rpc: APPROVE_REFUND, request: REFUND_REQUEST })
    const fields = { approval_id: 'over', rpc: APPROVE_REFUND, request: REFUND_REQUEST, proposer_id: 'p0' }
    await approvals.insertOrGet(propose({ ...fields, shown_request: '{}', reason: 'asked' }, now()))
    const statuses = () =>
      Promise.all(['hangs', 'done', 'over'].map(async (id) => (await approvals.get(id))?.status))
    await eventually(
      async () => {
        await clock.advance(5_000)
        return statuses()
      },
      (found) => JSON.stringify(found) === JSON.stringify(['approved', 'executed', 'obsolete']),
    )
    answer.resolve(create(AdjustResponseSchema))
    await process.stop()
    expect(await statuses()).toEqual(['executed', 'executed', 'obsolete'])
  } finally {
    answer.resolve(create(AdjustResponseSchema))
    await process.stop()
  }
})

// O5.4
test('a call that hangs delays no other call of its owner, also not one that is approved later', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  const requestOf = (operationId: string) =>
    toBinary(AdjustRequestSchema, create(AdjustRequestSchema, { operationId }))
  const approve = (id: string) =>
    approvedCall(approvals, { approval_id: id, rpc: ADJUST, request: requestOf(id) })
  const answer = Promise.withResolvers<Message>()
  let hanging = 0
  const callOwner: CallOwner = async (_method, request) => {
    const { operationId } = create(AdjustRequestSchema, request)
    if (operationId !== 'hangs') return create(AdjustResponseSchema)
    hanging += 1
    return answer.promise
  }
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  const untilExecuted = (...ids: readonly string[]) =>
    eventually(
      async () => {
        await clock.advance(5_000)
        return Promise.all(ids.map(async (id) => (await approvals.get(id))?.status))
      },
      (found) => found?.every((status) => status === 'executed') === true,
    )
  try {
    const first = Array.from({ length: 12 }, (_, number) => `first ${number}`)
    for (const id of ['hangs', ...first]) await approve(id)
    await untilExecuted(...first)
    await approve('later')
    await untilExecuted('later')
    expect([hanging, (await approvals.get('hangs'))?.status]).toEqual([1, 'approved'])
  } finally {
    answer.resolve(create(AdjustResponseSchema))
    await process.stop()
  }
})

// O5.4: else a right that was withdrawn meanwhile would come back.
test('a call that waited for its turn is not executed when another process has executed it meanwhile', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  const answer = Promise.withResolvers<void>()
  const called: string[] = []
  const callOwner: CallOwner = async (_method, request) => {
    called.push(idOf(request as Message, 'operationId'))
    await answer.promise
    return create(AdjustResponseSchema)
  }
  const ids = Array.from({ length: 11 }, (_, number) => `o${number}`)
  for (const id of ids) {
    const request = toBinary(AdjustRequestSchema, create(AdjustRequestSchema, { operationId: id }))
    await approvedCall(approvals, { approval_id: id, rpc: ADJUST, request })
    await clock.advance(1)
  }
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  const swept = process.sweep()
  await eventually(
    async () => called.length,
    (count) => count === 10,
  )
  await approvals.update('o10', (current) => executed(current, 0))
  answer.resolve()
  await swept
  await process.stop()
  expect(called).toEqual(ids.slice(0, 10))
})

test('calls that this release cannot execute keep no other of their owner from being executed', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  const request = toBinary(AdjustRequestSchema, create(AdjustRequestSchema, { operationId: 'o1' }))
  for (let number = 0; number < 12; number += 1)
    await approvedCall(approvals, { approval_id: `gone${number}`, rpc: `${ADJUST}Gone`, request })
  await clock.advance(1)
  await approvedCall(approvals, { approval_id: 'known', rpc: ADJUST, request })
  const callOwner: CallOwner = async () => create(AdjustResponseSchema)
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  await eventually(
    async () => {
      await clock.advance(5_000)
      return (await approvals.get('known'))?.status
    },
    (status) => status === 'executed',
  )
  await process.stop()
})

// O5: else the proposer would do alone what a colleague has refused.
test.each(['rejected', 'expired', 'obsolete'] as const)(
  'a call whose approval is %s does not reach its owner when it is repeated',
  async (status) => {
    using clock = installManualClock()
    await using opened = await openTestStore()
    const approvals = await openApprovals(opened.store)
    await approvals.setPolicy({ rpc: ADJUST, currency: 'INR', above_minor: 100n })
    const rpc = OPERATOR_RPCS.find(({ method }) => nameOfRpc(method) === ADJUST)
    if (rpc === undefined) throw new Error('there is no row of Adjust')
    let calls = 0
    const callOwner: CallOwner = async () => {
      calls += 1
      return create(AdjustResponseSchema)
    }
    const getPrincipal = async () => PROPOSER
    const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
    const amount = { minor: 500n, currency: 'INR' }
    const request = create(AdjustRequestSchema, { merchantId: '1', operationId: 'o1', amount })
    const repeat = () =>
      process.guard(
        { rpc, principal: PROPOSER, request, reason: undefined },
        () => callOwner(rpc.method, request),
        () => ({}),
      )
    await expect(repeat()).rejects.toMatchObject({ code: 8801, details: { status: 'pending' } })
    const [{ approval_id } = { approval_id: '' }] = (
      await approvals.list('pending', { page_size: 1, page_token: '' })
    ).items
    if (status === 'expired') clock.stepWall(24 * 3_600_000)
    else await approvals.update(approval_id, (current) => ({ ...current, status }))
    await expect(repeat()).rejects.toMatchObject({ code: 8801, details: { approval_id, status } })
    await process.stop()
    expect(calls).toBe(0)
  },
)

// O4, O5: the owner keeps who asked for what, in which act, and by whose approval.
test.each([
  ['the act of the decider', AUDIT_HEADER, 'act1'],
  ['the proposer', PRINCIPAL_HEADER, 'p0'],
  ['the approval', APPROVAL_HEADER, 'a1'],
])('an approved call tells its owner %s', async (_what, header, value) => {
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  const sent: Readonly<Record<string, string>>[] = []
  const callOwner: CallOwner = async (_method, _request, { headers = {} } = {}) => {
    sent.push(headers)
    return create(ApproveRefundResponseSchema)
  }
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  const call = { approval_id: 'a1', rpc: APPROVE_REFUND, request: REFUND_REQUEST }
  await process.execute(await approvedCall(approvals, call))
  await process.stop()
  expect(sent.map((headers) => headers[header])).toEqual([value])
})

// O5.4: the owner recognises the repetition by the approval, where the call has no operation id.
test('who repeats an approved call sends it under its approval', async () => {
  await using opened = await openTestStore()
  const approvals = await openApprovals(opened.store)
  await approvals.setPolicy({ rpc: ADJUST, currency: 'INR', above_minor: 100n })
  const rpc = rowOf(ADJUST)
  const amount = { minor: 500n, currency: 'INR' }
  const request = create(AdjustRequestSchema, { merchantId: '1', operationId: 'o1', amount })
  const callOwner: CallOwner = async () => create(AdjustResponseSchema)
  const getPrincipal = async () => PROPOSER
  const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
  await process.stop()
  const approval_id = approvalId(ADJUST, 'o1', 1)
  await approvedCall(approvals, { approval_id, rpc: ADJUST, request: toBinary(rpc.method.input, request) })
  const sent: unknown[] = []
  const send: Parameters<typeof process.guard>[1] = async (metadata) => {
    sent.push(metadata)
    return create(AdjustResponseSchema)
  }
  await process.guard({ rpc, principal: PROPOSER, request, reason: undefined }, send, () => ({}))
  expect(sent).toEqual([{ [APPROVAL_HEADER]: approval_id }])
})
