import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { ApprovalPolicySchema } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { BalanceSchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { decisionSentences } from './refund-decision.ts'

const refund = { minor: 5_000n, currency: 'INR' }
const balances = [create(BalanceSchema, { currency: 'INR', available: 6_000n })]
const policy = create(ApprovalPolicySchema, {
  rpc: 'multihub.support.v1.RefundService/ApproveRefund',
  currency: 'INR',
  aboveMinor: 4_999n,
})

test.each([
  [{ balances: undefined, policies: undefined }, []],
  [
    { balances, policies: [] },
    ['The merchant has 60.00 INR available, 10.00 INR after an approval.', 'One person may approve it.'],
  ],
  [
    { balances: [], policies: [policy] },
    [
      'The merchant has 0.00 INR available: an approval would be refused with 6004.',
      'A second person must confirm an approval, because it is above 49.99 INR.',
    ],
  ],
])(
  'a refund is shown with the money before and after it, and with who must approve: %#',
  (known, expected) => {
    expect(decisionSentences(refund, known)).toEqual(expected)
  },
)
