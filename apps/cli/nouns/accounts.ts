import type { Noun } from './noun.ts'

/** `multihub accounts`. */
export const noun: Noun = {
  service: async () =>
    (await import('#gen/multihub/payments/v1/provider_account_service_pb.ts')).ProviderAccountService,
  verbs: [
    {
      name: 'list',
      about: 'list the provider accounts',
      rpc: 'listProviderAccounts',
      columns: [
        'account_id',
        'connector',
        'environment',
        'circuit_state',
        'circuit_change_time',
        'failures',
        'last_failure',
      ],
    },
    {
      name: 'confirm-moved',
      about: 'confirm that an account with a new address is the same account',
      rpc: 'confirmAccountMoved',
      id: 'account_id',
    },
  ],
}
