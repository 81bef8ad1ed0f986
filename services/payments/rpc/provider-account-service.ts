import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  CircuitState as CircuitStateProto,
  type ProviderAccountSchema,
} from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { CircuitState } from '../connectors/circuit-breaker.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import { type ConfirmAccountMovedDeps, confirmAccountMoved } from '../use-cases/confirm-account-moved.ts'

const CIRCUIT_STATES = createEnumMap<CircuitState, CircuitStateProto>({
  closed: CircuitStateProto.CLOSED,
  open: CircuitStateProto.OPEN,
  half_open: CircuitStateProto.HALF_OPEN,
})

/** Maps a provider account with the state of its circuit breaker in this process. */
export function accountToProto({
  fingerprint,
  account,
  breaker,
}: ConnectedAccount): MessageInitShape<typeof ProviderAccountSchema> {
  const { state, since, failures, last_failure } = breaker.status()
  return {
    accountId: account.account_id,
    environment: ENVIRONMENTS.toProto(account.environment),
    connector: account.connector,
    circuitState: CIRCUIT_STATES.toProto(state),
    circuitChangeTime: timestampFromDate(since),
    failures,
    lastFailure: last_failure?.reason,
    lastFailureTime: last_failure && timestampFromDate(last_failure.at),
    fingerprint,
  }
}

/** Makes the RPC service that shows the provider accounts and their circuit breakers, and confirms moved ones. */
export function createProviderAccountRpc(deps: ConfirmAccountMovedDeps): RpcService {
  return rpcService(ProviderAccountService, {
    listProviderAccounts: by(['backoffice', 'internal'], async () => {
      const accounts = deps.accounts.toSorted((a, b) =>
        a.account.account_id < b.account.account_id ? -1 : 1,
      )
      return { accounts: accounts.map(accountToProto) }
    }),
    confirmAccountMoved: by(['backoffice'], async (request) => {
      const account_id = requiredId(request.accountId, 'account_id')
      const operation_id = requiredId(request.operationId, 'operation_id')
      return { account: accountToProto(await confirmAccountMoved(deps, { account_id, operation_id })) }
    }),
  })
}
