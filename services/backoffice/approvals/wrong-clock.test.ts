import { create, type Message } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { AdjustRequestSchema, AdjustResponseSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import { idOf } from '../door/message-fields.ts'
import type { OperatorCall } from '../door/operator-call.ts'
import { startSecondPerson } from './second-person.ts'
import { openApprovals } from './store/approvals.ts'
import { decideApproval } from './use-cases/decide-approval.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const SKEW_MS = 10_000
const DAY_MS = 86_400_000
const PROPOSER: Principal = {
  principal_id: 'proposer',
  name: 'proposer',
  kind: 'person',
  rights: ['money'],
  status: 'active',
  tokens: [],
  created_at: new Date(0),
  updated_at: new Date(0),
}

let opened: TestStore
let clock: InstalledClock
beforeEach(async () => {
  opened = await openTestStore()
  clock = installManualClock()
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await opened[Symbol.asyncDispose]()
})

/** Two back offices on one store, whose clocks differ, with a proposal of the first one. */
async function startTwo(skews_ms: readonly [number, number]) {
  const approvals = await openApprovals(opened.store)
  await approvals.setPolicy({ rpc: ADJUST, currency: 'INR', above_minor: 100n })
  const rpc = OPERATOR_RPCS.find(({ method }) => nameOfRpc(method) === ADJUST)
  if (rpc === undefined) throw new Error('there is no row of Adjust')
  /** The operation ids of the calls that the owner got. */
  const called: string[] = []
  const callOwner = async (_method: unknown, request: object): Promise<Message> => {
    called.push(idOf(request as Message, 'operationId'))
    return create(AdjustResponseSchema)
  }
  const getPrincipal = async () => PROPOSER
  const office = (skew_ms: number) => {
    const process = startSecondPerson({ approvals, getPrincipal, callOwner, show: () => '{}' })
    const by = async <T>(act: () => Promise<T>): Promise<T> => {
      clock.stepWall(skew_ms)
      try {
        return await act()
      } finally {
        clock.stepWall(-skew_ms)
      }
    }
    return {
      sweep: () => by(process.sweep),
      propose: (call: OperatorCall) =>
        by(() =>
          process.guard(
            call,
            () => callOwner(rpc.method, call.request),
            () => ({}),
          ),
        ),
      approve: (approval_id: string) =>
        by(async () => {
          const decision = {
            approval_id,
            status: 'approved',
            decider_id: 'second',
            reason: 'checked',
          } as const
          return process.execute(await decideApproval({ approvals, getPrincipal }, decision))
        }),
      stop: process.stop,
    }
  }
  const offices = [office(skews_ms[0]), office(skews_ms[1])] as const
  const request = create(AdjustRequestSchema, {
    merchantId: '1',
    operationId: 'one',
    amount: { minor: 500n, currency: 'INR' },
  })
  const propose = () => offices[0].propose({ rpc, principal: PROPOSER, request, reason: undefined })
  await expect(propose()).rejects.toMatchObject({ code: 8801, details: { status: 'pending' } })
  const [proposal] = (await approvals.list('pending', { page_size: 1, page_token: '' })).items
  const id = proposal?.approval_id ?? ''
  return {
    offices,
    id,
    propose,
    called,
    status: async () => (await approvals.get(id))?.status,
    stop: () => Promise.all(offices.map((one) => one.stop())),
  }
}

const SKEWS: readonly (readonly [number, number])[] = [
  [0, SKEW_MS],
  [0, -SKEW_MS],
  [SKEW_MS, 0],
  [-SKEW_MS, 0],
]

// O5
test.each(SKEWS)(
  'a proposal is open for a day less the skew, with clocks off by %i and %i ms',
  async (...skews) => {
    const { offices, id, called, status, stop } = await startTwo(skews)
    clock.stepWall(DAY_MS - SKEW_MS - 1)
    for (const office of offices) await office.sweep()
    expect(await status()).toBe('pending')
    await offices[1].approve(id)
    for (const office of offices) await office.sweep()
    expect([await status(), called]).toEqual(['executed', ['one']])
    await stop()
  },
)

// O5
test.each(SKEWS)('no office approves a proposal a day and the skew later: %i and %i ms', async (...skews) => {
  const { offices, id, called, stop } = await startTwo(skews)
  clock.stepWall(DAY_MS + SKEW_MS)
  for (const office of offices) await expect(office.approve(id)).rejects.toMatchObject({ code: 8801 })
  expect(called).toEqual([])
  await stop()
})

// O5: while one office takes the proposal for expired and the other one does not, the first write counts.
test.each(SKEWS)(
  'between both ends it is executed once or expires for all: %i and %i ms',
  async (...skews) => {
    for (const expires_first of [true, false]) {
      const { offices, id, called, status, propose, stop } = await startTwo(skews)
      const [early, late] = skews[0] > skews[1] ? offices : offices.toReversed()
      if (early === undefined || late === undefined) throw new Error('there are two offices')
      // The end by the clock of the early one is over, and by the clock of the late one it is not.
      const end_ms = DAY_MS + skews[0]
      clock.stepWall(end_ms - Math.max(...skews) + 1)
      if (expires_first) {
        await early.sweep()
        await expect(late.approve(id)).rejects.toMatchObject({ code: 8801, details: { status: 'expired' } })
        expect([await status(), called]).toEqual(['expired', []])
      } else {
        await late.approve(id)
        await Promise.all([early.sweep(), late.sweep()])
        await propose()
        expect(await status()).toBe('executed')
        expect(new Set(called)).toEqual(new Set(['one']))
      }
      clock.stepWall(2 * SKEW_MS)
      for (const office of offices) await office.sweep()
      expect(await status()).toBe(expires_first ? 'expired' : 'executed')
      await stop()
      await opened[Symbol.asyncDispose]()
      opened = await openTestStore()
    }
  },
)
