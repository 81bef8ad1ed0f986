import type { Noun } from './noun.ts'

/** `multihub routes`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/merchants/v1/route_service_pb.ts')).RouteService,
  verbs: [
    {
      name: 'list',
      about: 'list the routes of a merchant',
      rpc: 'listRoutes',
      columns: [
        'service_id',
        'direction',
        'method',
        'currency',
        'environment',
        'enabled',
        'connector',
        'provider_accounts',
      ],
    },
    {
      name: 'show',
      about: 'show a route; with --explain and --amount, what a payment over it would meet now',
      rpc: 'getRoute',
      id: 'service_id',
      explained_by: 'explain',
    },
    { name: 'create', about: 'create a route', rpc: 'createRoute' },
    {
      name: 'update',
      about: 'change, enable or disable a route',
      rpc: 'updateRoute',
      id: 'service_id',
      currency_from: 'getRoute',
    },
    {
      name: 'explain',
      about: 'say what a payment over a route would meet now',
      rpc: 'explainRoute',
      id: 'service_id',
      service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
    },
  ],
}
