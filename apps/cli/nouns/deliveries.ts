import type { Noun } from './noun.ts'

/** `multihub deliveries`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/notifier/v1/delivery_service_pb.ts')).DeliveryService,
  verbs: [
    {
      name: 'list',
      about: 'list callbacks',
      rpc: 'listDeliveries',
      columns: ['delivery_id', 'event', 'status', 'create_time', 'merchant_id', 'url'],
      next: 'deliveries show ID; deliveries replay ID sends a dead one again',
    },
    {
      name: 'show',
      about: 'show a callback with its tries; --reveal adds what was sent and answered',
      rpc: 'getDelivery',
      id: 'delivery_id',
    },
    {
      name: 'replay',
      about: 'send a dead callback again, or without an ID all that the filters select',
      rpc: 'replayDelivery',
      id: 'delivery_id',
      many: { rpc: 'replayDeliveries', filter: 'filter', progress: 'getReplay' },
    },
    {
      name: 'show-replay',
      about: 'show how far a replay of many callbacks is',
      rpc: 'getReplay',
      id: 'replay_id',
    },
  ],
}
