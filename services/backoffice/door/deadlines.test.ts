import { create } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService, GetBalancesRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { withRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { role as merchants } from '../../merchants/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { createCallOwner } from './call-owner.ts'

let door: TestDoor
beforeAll(async () => {
  door = await startDoor([merchants])
})
afterAll(async () => door[Symbol.asyncDispose]())

test('a caller that waits for no time gets DEADLINE_EXCEEDED, and begins no act', async () => {
  const { id, token } = await door.newPrincipal(['admin'])
  const no_time = { 'connect-timeout-ms': '0' }
  for (const rpc of ['ListMerchants', 'CreateMerchant']) {
    const { status, body } = await door.call(
      token,
      `multihub.merchants.v1.MerchantService/${rpc}`,
      {},
      no_time,
    )
    expect({ status, code: body.code }).toEqual({ status: 504, code: 'deadline_exceeded' })
  }
  const list = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
  const { body } = await door.call(token, list, { pageSize: 10, principalId: id })
  expect(body.entries).toEqual([])
})

test.each([
  [-1, Code.DeadlineExceeded],
  [60_000, Code.Unavailable],
])('an owner without an answer is %i ms before the deadline the status %i', async (left_ms, status) => {
  const lost = async (): Promise<never> => {
    throw new PublicError(2002)
  }
  const clientOf = (() => new Proxy({}, { get: () => lost })) as unknown as ClientOf
  const callOwner = createCallOwner(clientOf)
  const request = create(GetBalancesRequestSchema, { merchantId: '7001' })
  const call = withRequest({ deadline_ms: clock.monotonic_ms() + left_ms }, () =>
    callOwner(BalanceService.method.getBalances, request),
  )
  await expect(call).rejects.toMatchObject({ status })
})
