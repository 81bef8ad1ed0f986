import type { ApprovalPolicy } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { amountText } from '#lib/contract/shown-values.ts'

const APPROVE = 'multihub.support.v1.RefundService/ApproveRefund'

/**
 * What a person should know before a refund is approved: the merchant's money before and after, and who must approve. Each part is
 * left out while it is not known.
 */
export function decisionSentences(
  { minor, currency }: Pick<Money, 'minor' | 'currency'>,
  {
    balances,
    policies,
  }: {
    readonly balances: readonly Balance[] | undefined
    readonly policies: readonly ApprovalPolicy[] | undefined
  },
): readonly string[] {
  const words = (amount: bigint): string => amountText(amount, currency, { is_minor: false })
  const available = balances && (balances.find((balance) => balance.currency === currency)?.available ?? 0n)
  const policy = policies?.find((one) => one.rpc === APPROVE && one.currency === currency)
  return [
    ...(available === undefined
      ? []
      : available < minor
        ? [`The merchant has ${words(available)} available: an approval would be refused with 6004.`]
        : [`The merchant has ${words(available)} available, ${words(available - minor)} after an approval.`]),
    ...(policies === undefined
      ? []
      : policy !== undefined && minor > policy.aboveMinor
        ? [`A second person must confirm an approval, because it is above ${words(policy.aboveMinor)}.`]
        : ['One person may approve it.']),
  ]
}
