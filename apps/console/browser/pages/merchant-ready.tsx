import type { ReactNode } from 'react'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { AccountState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { type Check, checksOf } from '../../values/readiness.ts'
import { useRpc } from '../call/use-rpc.ts'
import { useRights } from '../parts/principal.tsx'
import { Text } from '../parts/text.tsx'

/** As many as the page of the merchant reads, so that both share the answers. */
const ITEMS_MAX = 500
const TESTS_MAX = 100
const TEST_EVENT = 'webhook.test'
const SHAPES = { done: '●', missing: '▲', unknown: '○' } as const
const TONES = { done: 'good', missing: 'waiting', unknown: 'quiet' } as const

/** Whether a merchant has what payments in production need, and what is missing. */
export function ReadyForProduction({ merchant }: { readonly merchant: Merchant }): ReactNode {
  const checks = useChecks(merchant)
  const missing = checks.filter(({ state }) => state === 'missing').length
  return (
    <section>
      <h2>Ready for production: {missing === 0 ? 'nothing is missing' : `${missing} missing`}</h2>
      <ul className="plain readiness">
        {checks.map(({ name, state, missing: what }) => (
          <li key={name}>
            <span className={TONES[state]}>
              <span aria-hidden="true">{SHAPES[state]}</span> {state === 'unknown' ? 'not known' : state}
            </span>
            <span>
              {name}{' '}
              {what !== '' && (
                <small>
                  <Text>{what}</Text>
                </small>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function useChecks(merchant: Merchant): readonly Check[] {
  const { merchantId } = merchant
  const { is_merchant } = useRights()
  const environment = Environment.PRODUCTION
  const of_merchant = { merchantId, pageSize: ITEMS_MAX }
  const credentials = useRpc(CredentialService.method.listCredentials, of_merchant)
  const routes = useRpc(RouteService.method.listRoutes, of_merchant)
  const endpoints = useRpc(EndpointService.method.listEndpoints, of_merchant)
  const tests = useRpc(DeliveryService.method.listDeliveries, {
    merchantId,
    pageSize: TESTS_MAX,
    environment,
    event: TEST_EVENT,
  })
  const accounts = useRpc(ProviderAccountService.method.listProviderAccounts, {}, { enabled: !is_merchant })
  const balances = useRpc(BalanceService.method.getBalances, { merchantId, environment })
  return checksOf({
    merchant,
    credentials: credentials.data?.credentials,
    routes: routes.data?.routes,
    endpoints: endpoints.data?.endpoints,
    tested_endpoint_ids: setOf(
      tests.data?.deliveries.filter(({ status }) => status === DeliveryStatus.DELIVERED),
      ({ endpointId }) => endpointId,
    ),
    configured_account_ids: setOf(accounts.data?.accounts, ({ accountId }) => accountId),
    enabled_account_ids: setOf(
      accounts.data?.accounts.filter(
        (account) => account.environment === environment && account.state === AccountState.ENABLED,
      ),
      ({ accountId }) => accountId,
    ),
    funded_currencies: setOf(
      balances.data?.balances.filter(({ available }) => available > 0n),
      ({ currency }) => currency,
    ),
  })
}

function setOf<T>(
  items: readonly T[] | undefined,
  idOf: (item: T) => string,
): ReadonlySet<string> | undefined {
  return items && new Set(items.map(idOf))
}
