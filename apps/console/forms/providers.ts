import { AccountState, type ProviderAccount } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { type Act, act } from './act.ts'

function setState(
  name: string,
  state: AccountState,
  effects: readonly string[],
  confirm?: (account: ProviderAccount) => string,
): Act<ProviderAccount> {
  return act({
    name,
    method: ProviderAccountService.method.setAccountState,
    isOffered: (account: ProviderAccount) => account.state !== state,
    effects: ({ accountId }) => [`Account ${accountId}: ${name.toLowerCase()}.`, ...effects],
    request: ({ accountId }) => ({ accountId, state }),
    ...(confirm && { confirm }),
  })
}

/** What can be done with a provider account. */
export const provider_acts: readonly Act<ProviderAccount>[] = [
  setState('Drain', AccountState.DRAINING, [
    'It gets no new payments: routes use their next account. Polls and refunds of old payments go on.',
  ]),
  setState(
    'Disable',
    AccountState.DISABLED,
    ['Nothing that moves money is sent to it, refunds included. Look-ups and callbacks go on.'],
    ({ accountId }) => accountId,
  ),
  setState('Enable', AccountState.ENABLED, ['It gets new payments again.']),
]
