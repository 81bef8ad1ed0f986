import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { BalanceService, ListEntriesRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import { withinMerchant } from './merchant-scope.ts'

// O2: its owner may have read what belongs to another merchant, and left it out.
test.each([
  ['names a payment', 'after 50 ms', { paymentId: 'p1' }],
  ['names its merchant only', 'at once', { merchantId: '1000' }],
])('a list of a merchant that %s is answered %s', async (_what, when, fields) => {
  using clock = installManualClock()
  const rpc = OPERATOR_RPCS.find(({ method }) => method === BalanceService.method.listEntries)
  if (rpc === undefined) throw new Error('there is no row of ListEntries')
  const request = create(ListEntriesRequestSchema, fields)
  let is_answered = false
  const answering = withinMerchant(
    { rpc, request, merchant_id: '1000' },
    () => Promise.reject(new Error('nothing is looked up')),
    async () => create(BalanceService.method.listEntries.output),
  ).then(() => {
    is_answered = true
  })
  await clock.advance(49)
  expect(is_answered).toBe(when === 'at once')
  await clock.advance(1)
  await answering
})
