import type { Noun } from './noun.ts'

/** `multihub payments`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
  verbs: [
    {
      name: 'list',
      about: 'list payments, the newest first',
      rpc: 'listPayments',
      columns: [
        'payment_id',
        'amount',
        'status',
        'error_code',
        'c_id',
        'create_time',
        'direction',
        'merchant_id',
      ],
    },
    {
      name: 'show',
      about: 'show a payment with its attempts; by any id, or by --merchant, --environment and --c-id',
      rpc: 'getPayment',
      id: 'payment_id',
      instead_of_id: ['c_id', 'h_id'],
      finds: 'payment',
    },
    {
      name: 'refusals',
      about: 'list withdrawals that the ledger refused',
      rpc: 'listWithdrawalRefusals',
      columns: ['payment_id', 'amount', 'error_code', 'c_id', 'refuse_time', 'merchant_id'],
    },
  ],
}
