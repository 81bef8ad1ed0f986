import type { Noun } from './noun.ts'

/** `multihub anomalies`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
  verbs: [
    {
      name: 'list',
      about: 'list anomalies',
      rpc: 'listAnomalies',
      columns: ['anomaly_id', 'kind', 'description', 'create_time', 'payment_id', 'merchant_id'],
      next: 'anomalies show ID, then resolve ID --resolution ...',
    },
    { name: 'show', about: 'show an anomaly', rpc: 'getAnomaly', id: 'anomaly_id' },
    {
      name: 'resolve',
      about: 'decide: paid, not_paid or dismissed',
      rpc: 'resolveAnomaly',
      id: 'anomaly_id',
    },
  ],
}
