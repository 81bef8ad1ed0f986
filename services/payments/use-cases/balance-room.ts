import type { Client } from '@connectrpc/connect'
import type { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { INT64_MAX } from '#lib/contract/money.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import { LEDGER_CALL } from '../effects/post-to-ledger.ts'

/** What asking for the room of a balance needs. */
export interface BalanceRoomDeps {
  readonly balances: Pick<Client<typeof BalanceService>, 'getBalances'>
}

/** In minor units. Smaller deposits never ask the ledger, so that an ordinary payment costs no call (E6). */
const ASKED_FROM = 10n ** 15n

/**
 * Whether the credit of a deposit could take the merchant's balance past 2^63-1 (E6). Held funds count: their release makes
 * them available again. Withdrawals and amounts below 10^15 have room. Throws `Unavailable` when the ledger does not answer.
 */
export async function hasBalanceRoom(
  { balances }: BalanceRoomDeps,
  route: PaymentRoute,
  amount: bigint,
): Promise<boolean> {
  if (route.direction === 'out' || amount < ASKED_FROM) return true
  const response = await balances.getBalances(scopeToProto(route), LEDGER_CALL)
  const balance = response.balances.find(({ currency }) => currency === route.currency)
  return balance === undefined || balance.available + balance.held + amount <= INT64_MAX
}
