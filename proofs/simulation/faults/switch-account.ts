import { AccountState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import { SWITCHED_ACCOUNTS } from '../world/providers.ts'
import type { World } from '../world/world.ts'

const { ENABLED, DRAINING, DISABLED } = AccountState

/** Switches a provider account as the operator does, at a random moment, and keeps it so for a time. The call may fail. */
export async function switchAccount({ operator, trace }: World, choices: Choices): Promise<void> {
  const accountId = choices.pick(SWITCHED_ACCOUNTS)
  const state = choices.pick([ENABLED, DRAINING, DISABLED, DISABLED])
  trace.add(`the account ${accountId} is switched to ${state}`)
  await operator(ProviderAccountService)
    .setAccountState({ accountId, state, reason: 'simulated' })
    .catch(() => {})
  await sleep(choices.between(100, 12_000))
}

/** Enables all accounts. Nothing fails any more. */
export async function enableAccounts(clientOf: ClientOf): Promise<void> {
  for (const accountId of SWITCHED_ACCOUNTS)
    await clientOf(ProviderAccountService).setAccountState({
      accountId,
      state: ENABLED,
      reason: 'the load is over',
    })
}
