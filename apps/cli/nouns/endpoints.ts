import type { Noun } from './noun.ts'

/** `multihub endpoints`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/merchants/v1/endpoint_service_pb.ts')).EndpointService,
  verbs: [
    {
      name: 'list',
      about: 'list the endpoints of a merchant',
      rpc: 'listEndpoints',
      columns: [
        'endpoint_id',
        'merchant_id',
        'environment',
        'enabled',
        'secret_create_time',
        'url',
        'events',
      ],
    },
    { name: 'show', about: 'show an endpoint without its secret', rpc: 'getEndpoint', id: 'endpoint_id' },
    { name: 'create', about: 'create an endpoint; its secret is shown once', rpc: 'createEndpoint' },
    { name: 'update', about: 'change an endpoint', rpc: 'updateEndpoint', id: 'endpoint_id' },
    {
      name: 'rotate',
      about: 'give an endpoint a new secret',
      rpc: 'rotateEndpointSecret',
      id: 'endpoint_id',
    },
    {
      name: 'test',
      about: 'send a test event to an endpoint',
      rpc: 'sendTestEvent',
      id: 'endpoint_id',
      service: async () => (await import('#gen/multihub/notifier/v1/delivery_service_pb.ts')).DeliveryService,
    },
  ],
}
