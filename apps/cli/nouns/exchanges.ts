import type { Noun } from './noun.ts'

/** `multihub exchanges`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/backoffice/v1/exchange_service_pb.ts')).ExchangeService,
  verbs: [
    {
      name: 'list',
      about: 'list requests of a merchant, the newest first; multihub logs tail follows them',
      rpc: 'listExchanges',
      columns: [
        'time',
        'http_status',
        'code',
        'method',
        'field',
        'duration_ms',
        'c_id',
        'application_id',
        'request_id',
      ],
    },
    { name: 'show', about: 'show one request by its request id', rpc: 'getExchange', id: 'request_id' },
  ],
}
