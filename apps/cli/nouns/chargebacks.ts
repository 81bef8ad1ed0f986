import type { Noun } from './noun.ts'

/** `multihub chargebacks`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/support/v1/chargeback_service_pb.ts')).ChargebackService,
  verbs: [
    {
      name: 'list',
      about: 'list chargebacks',
      rpc: 'listChargebacks',
      columns: [
        'chargeback_id',
        'amount',
        'status',
        'deadline_time',
        'payment_c_id',
        'merchant_id',
        'reason_code',
      ],
      next: 'chargebacks move ID --status ..., or add-evidence ID --file PATH',
    },
    { name: 'show', about: 'show a chargeback', rpc: 'getChargeback', id: 'chargeback_id' },
    {
      name: 'open',
      about: 'record a chargeback: the amount is taken from the merchant',
      rpc: 'openChargeback',
      id: 'payment_id',
    },
    {
      name: 'move',
      about: 'move a chargeback to another status',
      rpc: 'moveChargeback',
      id: 'chargeback_id',
    },
    {
      name: 'add-evidence',
      about: 'upload --file and add it to a chargeback; the same file is added once',
      rpc: 'addEvidence',
      id: 'chargeback_id',
      uploads: 'attachment_id',
    },
  ],
}
