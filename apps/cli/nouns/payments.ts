import type { Noun } from './noun.ts'

/** `multihub payments`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
  verbs: [
    {
      name: 'list',
      about: 'list payments, the newest first',
      rpc: 'listPayments',
      columns: ['payment_id', 'c_id', 'direction', 'amount', 'status', 'merchant_id', 'create_time'],
    },
    { name: 'show', about: 'show a payment with its attempts', rpc: 'getPayment', id: 'payment_id' },
    {
      name: 'refusals',
      about: 'list withdrawals that the ledger refused',
      rpc: 'listWithdrawalRefusals',
      columns: ['payment_id', 'c_id', 'amount', 'error_code', 'merchant_id', 'refuse_time'],
    },
  ],
}
