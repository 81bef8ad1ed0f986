/** The RPCs that can have a policy (O5). */
export const POLICY_RPCS: readonly string[] = [
  'multihub.balances.v1.BalanceService/Adjust',
  'multihub.balances.v1.BalanceService/Settle',
  'multihub.balances.v1.VerificationService/ResumeShard',
  'multihub.support.v1.ChargebackService/OpenChargeback',
  'multihub.support.v1.ChargebackService/MoveChargeback',
  'multihub.support.v1.RefundService/ApproveRefund',
  'multihub.payments.v1.PaymentService/ResolveAnomaly',
]
