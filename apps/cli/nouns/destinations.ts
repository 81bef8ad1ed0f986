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
        'merchant_id',
        'environment',
        'state',
        'origin',
        'failures',
        'last_failure',
        'waiting_count',
        'next_probe_time',
      ],
    },
    {
      name: 'probe',
      about: 'ask now whether a receiver works again',
      rpc: 'probeDestination',
      id: 'destination_key',
    },
  ],
}
