import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import { accountToProto } from './provider-account-proto.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = { listProviderAccounts: ['operator', 'internal'] } as const

/** Makes the RPC service that shows the provider accounts and their circuit breakers. */
export function createProviderAccountRpc(connected: readonly ConnectedAccount[]): RpcService {
  return rpcService(ProviderAccountService, PERMISSIONS, {
    async listProviderAccounts() {
      const accounts = connected.toSorted((a, b) => (a.account.account_id < b.account.account_id ? -1 : 1))
      return { accounts: accounts.map(accountToProto) }
    },
  })
}
