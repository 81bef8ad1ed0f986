import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import {
  AccountState as AccountStateProto,
  CircuitState as CircuitStateProto,
  type ProviderAccountSchema,
} from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap, requiredText } from '#lib/contract/proto-fields.ts'
import { principalOf } from '#lib/rpc/principal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { AccountStates } from '../account-states.ts'
import type { CircuitState } from '../connectors/circuit-breaker.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { AccountState, AccountSwitch } from '../domain/account-state.ts'
import { type ConfirmAccountMovedDeps, confirmAccountMoved } from '../use-cases/confirm-account-moved.ts'
import {
  listUnconfiguredAccounts,
  type UnconfiguredAccountsDeps,
} from '../use-cases/list-unconfigured-accounts.ts'
import { type SetAccountStateDeps, setAccountState } from '../use-cases/set-account-state.ts'

const CIRCUIT_STATES = createEnumMap<CircuitState, CircuitStateProto>({
  closed: CircuitStateProto.CLOSED,
  open: CircuitStateProto.OPEN,
  half_open: CircuitStateProto.HALF_OPEN,
})

const STATES = createEnumMap<AccountState, AccountStateProto>({
  enabled: AccountStateProto.ENABLED,
  draining: AccountStateProto.DRAINING,
  disabled: AccountStateProto.DISABLED,
})

const REASON_MAX = 500

/** Maps a provider account with the state of its circuit breaker in this process, and what the operator has set. */
export function accountToProto(
  { fingerprint, account, breaker }: ConnectedAccount,
  switched: AccountSwitch | undefined,
): MessageInitShape<typeof ProviderAccountSchema> {
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
    ...stateToProto(switched),
  }
}

function stateToProto(switched: AccountSwitch | undefined): MessageInitShape<typeof ProviderAccountSchema> {
  if (switched === undefined) return { state: AccountStateProto.ENABLED }
  const { state, reason, principal_id, at, restored_at } = switched
  return {
    state: STATES.toProto(state),
    stateReason: reason,
    statePrincipalId: principal_id,
    stateTime: timestampFromDate(at),
    ...(restored_at && { stateRestoreTime: timestampFromDate(restored_at) }),
  }
}

/** What the RPC service needs. */
interface ProviderAccountDeps extends ConfirmAccountMovedDeps, SetAccountStateDeps, UnconfiguredAccountsDeps {
  readonly account_states: Pick<AccountStates, 'refresh' | 'switchOf'>
}

/** Makes the RPC service that shows the provider accounts and their circuit breakers, confirms moved ones, and switches them. */
export function createProviderAccountRpc(deps: ProviderAccountDeps): RpcService {
  const toProto = (connected: ConnectedAccount) =>
    accountToProto(connected, deps.account_states.switchOf(connected.account.account_id))
  return rpcService(ProviderAccountService, {
    listProviderAccounts: by(['backoffice', 'internal'], async () => {
      const accounts = deps.accounts.toSorted((a, b) =>
        a.account.account_id < b.account.account_id ? -1 : 1,
      )
      return { accounts: accounts.map(toProto) }
    }),
    listUnconfiguredAccounts: by(['backoffice'], async () => {
      const accounts = await listUnconfiguredAccounts(deps)
      return {
        accounts: accounts.map(({ account_id, open_payments }) => ({
          accountId: account_id,
          openPayments: open_payments,
        })),
      }
    }),
    confirmAccountMoved: by(['backoffice'], async (request) => {
      const account_id = requiredId(request.accountId, 'account_id')
      const operation_id = requiredId(request.operationId, 'operation_id')
      return { account: toProto(await confirmAccountMoved(deps, { account_id, operation_id })) }
    }),
    setAccountState: by(['backoffice'], async (request, context: HandlerContext) => {
      const account_id = requiredId(request.accountId, 'account_id')
      const state = STATES.required(request.state, 'state')
      const reason = checkLine(requiredText(request.reason, 'reason'), 'reason', REASON_MAX)
      const given = { state, reason, principal_id: principalOf(context) }
      return { account: toProto(await setAccountState(deps, account_id, given)) }
    }),
  })
}
