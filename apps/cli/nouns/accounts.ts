import { AccountState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import type { Noun, Verb } from './noun.ts'

const SET_STATE = { rpc: 'setAccountState', id: 'account_id' } satisfies Partial<Verb>

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
        'state',
        'circuit_state',
        'circuit_change_time',
        'failures',
        'last_failure',
      ],
    },
    {
      name: 'list-unconfigured',
      about: 'list the accounts that are not configured although payments or refunds at them have not ended',
      rpc: 'listUnconfiguredAccounts',
      columns: ['account_id', 'open_payments.count', 'open_payments.oldest_time'],
    },
    {
      name: 'show',
      about: 'show a provider account with its circuit breaker',
      rpc: 'listProviderAccounts',
      finds: 'account_id',
    },
    {
      name: 'disable',
      about: 'send nothing that moves money to an account',
      ...SET_STATE,
      fixed: { state: AccountState.DISABLED },
    },
    {
      name: 'drain',
      about: 'keep new payments away from an account; refunds go on',
      ...SET_STATE,
      fixed: { state: AccountState.DRAINING },
    },
    {
      name: 'enable',
      about: 'let an account take payments again',
      ...SET_STATE,
      fixed: { state: AccountState.ENABLED },
    },
    {
      name: 'confirm-moved',
      about: 'confirm that an account with a new address is the same account',
      rpc: 'confirmAccountMoved',
      id: 'account_id',
    },
  ],
}
