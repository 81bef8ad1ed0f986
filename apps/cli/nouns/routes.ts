import { create, type Message } from '@bufbuild/protobuf'
import type { Connection } from '../call/connection.ts'
import type { Noun } from './noun.ts'

/** Names the provider accounts of a route that no process has in its settings: no payment can go there. */
async function unknownAccounts(connection: Connection, route: Message): Promise<readonly string[]> {
  const { ListProviderAccountsRequestSchema, ProviderAccountService } = await import(
    '#gen/multihub/payments/v1/provider_account_service_pb.ts'
  )
  const wanted: readonly string[] = Reflect.get(route, 'providerAccounts') ?? []
  const request = create(ListProviderAccountsRequestSchema)
  const { accounts } = await connection.call(ProviderAccountService.method.listProviderAccounts, request)
  const configured = new Set(accounts.map(({ accountId }) => accountId))
  return wanted
    .filter((account) => !configured.has(account))
    .map((account) => `the provider account ${account} is not configured: no payment goes there until it is`)
}

/** `multihub routes`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/merchants/v1/route_service_pb.ts')).RouteService,
  verbs: [
    {
      name: 'list',
      about: 'list the routes of a merchant',
      rpc: 'listRoutes',
      columns: [
        'service_id',
        'direction',
        'method',
        'currency',
        'environment',
        'enabled',
        'connector',
        'provider_accounts',
      ],
    },
    {
      name: 'show',
      about: 'show a route; with --explain and --amount, what a payment over it would meet now',
      rpc: 'getRoute',
      id: 'service_id',
      explained_by: 'explain',
    },
    { name: 'create', about: 'create a route', rpc: 'createRoute', warn: unknownAccounts },
    {
      name: 'update',
      about: 'change, enable or disable a route',
      rpc: 'updateRoute',
      id: 'service_id',
      currency_from: 'getRoute',
      warn: unknownAccounts,
    },
    {
      name: 'explain',
      about: 'say what a payment over a route would meet now',
      rpc: 'explainRoute',
      id: 'service_id',
      service: async () => (await import('#gen/multihub/payments/v1/payment_service_pb.ts')).PaymentService,
    },
  ],
}
