import type { DescMessage, DescMethodUnary, Message } from '@bufbuild/protobuf'
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { BalanceSchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Credential, CredentialSchema } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { type Endpoint, EndpointSchema } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { type Merchant, MerchantSchema, MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { Act } from '../acts/act.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { callRpc } from '../call/call-rpc.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Facts } from '../parts/values.tsx'
import { ReadyForProduction } from './merchant-ready.tsx'

/** More than any merchant has; the page says when there are more. */
const ITEMS_MAX = 200

function setStatus(name: string, status: MerchantStatus, effect: string): Act<Merchant> {
  return {
    name,
    rights: ['admin'],
    isOffered: (merchant) => merchant.status !== status && merchant.status !== MerchantStatus.CLOSED,
    effects: () => [effect],
    async run({ merchantId }, { reason }) {
      await callRpc(MerchantService.method.updateMerchant, { merchantId, status }, { reason })
      return undefined
    },
  }
}

const merchantActs = [
  setStatus('Suspend', MerchantStatus.SUSPENDED, 'Its new payments are refused. What is under way goes on.'),
  setStatus('Activate', MerchantStatus.ACTIVE, 'Its new payments are taken again.'),
]

const credentialActs: readonly Act<Credential>[] = [
  {
    name: 'Replace secret',
    rights: ['admin', 'rotate'],
    isOffered: () => true,
    effects: ({ applicationId }) => [
      `Application ${applicationId} gets a new secret, which is shown once.`,
      'The present secret counts for the time that you choose. Give the new one to the merchant by a safe way.',
    ],
    inputs: [
      { name: 'hours', label: 'Hours that the present secret still counts', kind: 'text', initial: '24' },
    ],
    async run({ applicationId }, { reason, inputs }) {
      const request = { applicationId, overlapSeconds: Math.round(Number(inputs['hours']) * 3_600) }
      return (await callRpc(CredentialService.method.rotateSecret, request, { reason })).secret
    },
  },
]

const endpointActs: readonly Act<Endpoint>[] = [
  {
    name: 'Replace secret',
    rights: ['admin', 'rotate'],
    isOffered: () => true,
    effects: ({ url }) => [`Callbacks to ${url} are signed with a new secret, which is shown once.`],
    async run({ endpointId }, { reason }) {
      return (await callRpc(EndpointService.method.rotateEndpointSecret, { endpointId }, { reason })).secret
    },
  },
  {
    name: 'Send test event',
    rights: ['support'],
    isOffered: ({ enabled }) => enabled,
    effects: ({ url }) => [`A callback with the event test is sent to ${url}.`],
    async run({ endpointId }, { reason }) {
      await callRpc(DeliveryService.method.sendTestEvent, { endpointId }, { reason })
      return undefined
    },
  },
]

/** A merchant with what it is set up with, and its balances. */
export function MerchantPage(): ReactNode {
  const { merchant_id: merchantId = '' }: { readonly merchant_id?: string } = useParams({ strict: false })
  const { data, error } = useRpc(MerchantService.method.getMerchant, { merchantId })
  const merchant = data?.merchant
  useTitle(merchant === undefined ? 'Merchant' : merchant.name)
  if (merchant === undefined) return error && <ProblemNote error={error} />
  const lists = ['payments', 'refunds', 'chargebacks', 'tickets', 'deliveries']
  return (
    <>
      <h1>
        <Text>{merchant.name}</Text>
      </h1>
      <ActBar acts={merchantActs} item={merchant} />
      <p>
        {lists.map((page) => (
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
        <Items
          title="Credentials"
          method={CredentialService.method.listCredentials}
          items="credentials"
          desc={CredentialSchema}
          merchantId={merchantId}
          acts={credentialActs}
        />
        <Items
          title="Endpoints"
          method={EndpointService.method.listEndpoints}
          items="endpoints"
          desc={EndpointSchema}
          merchantId={merchantId}
          acts={endpointActs}
        />
        <Items
          title="Routes"
          method={RouteService.method.listRoutes}
          items="routes"
          desc={RouteSchema}
          merchantId={merchantId}
          acts={[]}
        />
      </div>
    </>
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
      {data?.balances.map((balance) => (
        <Facts key={balance.currency} desc={BalanceSchema} message={balance} />
      ))}
    </>
  )
}

/** What a merchant is set up with, one after the other. */
function Items<T extends Message>({
  title,
  method,
  items,
  desc,
  merchantId,
  acts,
}: {
  readonly title: string
  readonly method: DescMethodUnary
  readonly items: string
  readonly desc: DescMessage
  readonly merchantId: string
  readonly acts: readonly Act<T>[]
}): ReactNode {
  const { data, error } = useRpc(method, { merchantId, pageSize: ITEMS_MAX } as never)
  const all = data === undefined ? [] : (Reflect.get(data, items) as readonly T[])
  return (
    <section>
      <h2>{title}</h2>
      {error !== null && <ProblemNote error={error} />}
      {data !== undefined && all.length === 0 && <p className="quiet">None.</p>}
      {all.map((item) => {
        const [id_field] = desc.fields
        return (
          <details key={String(id_field && Reflect.get(item, id_field.localName))} open={all.length < 3}>
            <summary>{nameOf(desc, item)}</summary>
            <ActBar acts={acts} item={item} />
            <Facts desc={desc} message={item} without={['merchant_id']} />
          </details>
        )
      })}
      {data !== undefined && Reflect.get(data, 'nextPageToken') !== '' && (
        <p>There are more than {ITEMS_MAX}.</p>
      )}
    </section>
  )
}

/** The words by which a person knows an item: its id, and what it is for. */
function nameOf(desc: DescMessage, item: Message): ReactNode {
  const words = [desc.fields[0]?.localName ?? '', 'url', 'purpose', 'method', 'currency'].flatMap((name) => {
    const value: unknown = Reflect.get(item, name)
    return typeof value === 'string' && value !== '' ? [value] : []
  })
  return <Text>{words.join(' · ')}</Text>
}
