import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { BalanceSchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Credential, CredentialSchema } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { type Endpoint, EndpointSchema } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { type Merchant, MerchantSchema } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { type Route, RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { createCredential, credential_acts } from '../../forms/credentials.ts'
import { createEndpoint, endpoint_acts } from '../../forms/endpoints.ts'
import { merchant_acts } from '../../forms/merchants.ts'
import { account_acts } from '../../forms/money.ts'
import { createRoute, route_acts } from '../../forms/routes.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { ItemList, type ItemListSpec } from '../lists/item-list.tsx'
import { MerchantZone } from '../parts/merchant-zone.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Facts } from '../parts/values.tsx'
import { ReadyForProduction } from './merchant-ready.tsx'
import { UnconfiguredOfRoute } from './unconfigured-accounts.tsx'

/** More than any merchant has; the page says when there are more. */
const ITEMS_MAX = 500

const credentials: ItemListSpec<Credential> = {
  title: 'Credentials',
  method: CredentialService.method.listCredentials,
  items: 'credentials',
  desc: CredentialSchema,
  names: ['applicationId'],
  acts: credential_acts,
}

const endpoints: ItemListSpec<Endpoint> = {
  title: 'Endpoints',
  method: EndpointService.method.listEndpoints,
  items: 'endpoints',
  desc: EndpointSchema,
  names: ['url', 'endpointId'],
  acts: endpoint_acts,
}

const routes: ItemListSpec<Route> = {
  title: 'Routes',
  method: RouteService.method.listRoutes,
  items: 'routes',
  desc: RouteSchema,
  names: ['serviceId', 'purpose', 'method', 'currency'],
  acts: route_acts,
  above: (route) => <UnconfiguredOfRoute route={route} />,
}

const LISTS = ['payments', 'refunds', 'chargebacks', 'tickets', 'deliveries', 'requests']

/** A merchant with what it is set up with, and its balances. */
export function MerchantPage(): ReactNode {
  const { merchant_id: merchantId = '' }: { readonly merchant_id?: string } = useParams({ strict: false })
  const { data, error } = useRpc(MerchantService.method.getMerchant, { merchantId })
  const merchant = data?.merchant
  useTitle(merchant === undefined ? 'Merchant' : merchant.name)
  if (merchant === undefined)
    return error === null ? <p className="quiet">Reading…</p> : <ProblemNote error={error} />
  return <Setup key={merchantId} merchant={merchant} />
}

function Setup({ merchant }: { readonly merchant: Merchant }): ReactNode {
  const { merchantId } = merchant
  const request = { merchantId, pageSize: ITEMS_MAX }
  return (
    <MerchantZone merchant_id={merchantId}>
      <h1>
        <Text>{merchant.name}</Text>
      </h1>
      <ActBar acts={merchant_acts} item={merchant} />
      <p>
        {LISTS.map((page) => (
          <span key={page}>
            <PageLink to={{ path: `/${page}`, search: { q: `merchant:${merchantId}` } }}>
              {page}
            </PageLink>{' '}
          </span>
        ))}
      </p>
      <div className="columns">
        <section>
          <h2>Details</h2>
          <Facts desc={MerchantSchema} message={merchant} />
          <ReadyForProduction merchant={merchant} />
          {merchant.environments.map((environment) => (
            <Balances key={environment} merchantId={merchantId} environment={environment} />
          ))}
        </section>
        <ItemList spec={credentials} request={request}>
          <ActBar acts={[createCredential]} item={merchant} is_main={false} />
        </ItemList>
        <ItemList spec={endpoints} request={request}>
          <ActBar acts={[createEndpoint]} item={merchant} is_main={false} />
        </ItemList>
        <ItemList spec={routes} request={request}>
          <ActBar acts={[createRoute]} item={merchant} is_main={false} />
        </ItemList>
      </div>
    </MerchantZone>
  )
}

function Balances({
  merchantId,
  environment,
}: {
  readonly merchantId: string
  readonly environment: Environment
}): ReactNode {
  const { data, error } = useRpc(BalanceService.method.getBalances, { merchantId, environment })
  const name = environment === Environment.PRODUCTION ? 'production' : 'test'
  const filters = { q: `merchant:${merchantId} env:${name}` }
  return (
    <>
      <h2>
        Balances, {name} <PageLink to={{ path: '/balances', search: filters }}>entries</PageLink>
      </h2>
      {error !== null && <ProblemNote error={error} />}
      {data?.balances.length === 0 && <p className="quiet">None.</p>}
      {data?.balances.map((balance) => (
        <details key={balance.currency} open={data.balances.length < 3}>
          <summary>{balance.currency}</summary>
          <Facts desc={BalanceSchema} message={balance} />
          <ActBar acts={account_acts} item={{ ...balance, merchantId, environment }} is_main={false} />
        </details>
      ))}
    </>
  )
}
