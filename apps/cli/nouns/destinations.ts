import type { Noun } from './noun.ts'

/** `multihub destinations`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/notifier/v1/delivery_service_pb.ts')).DeliveryService,
  verbs: [
    {
      name: 'list',
      about: 'list receivers with their breakers, the longest open first',
      rpc: 'listDestinations',
      columns: [
        'destination_key',
        'state',
        'origin',
        'waiting_count',
        'next_probe_time',
        'failures',
        'last_failure',
        'merchant_id',
        'environment',
      ],
    },
    {
      name: 'show',
      about: 'show a receiver with its breaker',
      rpc: 'getDestination',
      id: 'destination_key',
    },
    {
      name: 'probe',
      about: 'ask now whether a receiver works again',
      rpc: 'probeDestination',
      id: 'destination_key',
    },
  ],
}
