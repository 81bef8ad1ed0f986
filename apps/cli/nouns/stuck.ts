import type { LoadService, Noun } from './noun.ts'

const ofSupport: LoadService = async () =>
  (await import('#gen/multihub/support/v1/effect_service_pb.ts')).EffectService

/** `multihub stuck`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
  verbs: [
    {
      name: 'list',
      about: 'list what is stuck in payments',
      rpc: 'listStuckEffects',
      columns: ['payment_id', 'kind', 'tries', 'stuck_time', 'failure', 'effect_id'],
      next: 'stuck retry PAYMENT --effect-id EFFECT',
    },
    { name: 'retry', about: 'try an effect of a payment again', rpc: 'retryEffect', id: 'payment_id' },
    {
      name: 'list-support',
      about: 'list what is stuck in --documents tickets, refunds or chargebacks',
      rpc: 'listStuckEffects',
      service: ofSupport,
      columns: ['document_id', 'kind', 'tries', 'stuck_time', 'failure', 'effect_id'],
      next: 'stuck retry-support DOCUMENT --documents ... --effect-id EFFECT',
    },
    {
      name: 'retry-support',
      about: 'try an effect of a ticket, refund or chargeback again',
      rpc: 'retryEffect',
      service: ofSupport,
      id: 'document_id',
    },
  ],
}
