import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Credential, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import type { Endpoint } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { type Merchant, MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { Direction, type Route } from '#gen/multihub/merchants/v1/route_pb.ts'

/** What is known of a merchant; `undefined` where it is not read yet. */
export interface MerchantSetup {
  readonly merchant: Merchant
  readonly credentials: readonly Credential[] | undefined
  readonly routes: readonly Route[] | undefined
  readonly endpoints: readonly Endpoint[] | undefined
  /** The endpoints that have accepted a test event. */
  readonly tested_endpoint_ids: ReadonlySet<string> | undefined
  /** All accounts at providers that are configured; `undefined` also where this principal cannot see them. */
  readonly configured_account_ids: ReadonlySet<string> | undefined
  /** The production accounts at providers that take new payments; `undefined` also where this principal cannot see them. */
  readonly enabled_account_ids: ReadonlySet<string> | undefined
  /** The currencies with money in production. */
  readonly funded_currencies: ReadonlySet<string> | undefined
}

/** One condition for production, and what is missing. */
export interface Check {
  readonly name: string
  readonly state: 'done' | 'missing' | 'unknown'
  /** What is missing, as a sentence; empty otherwise. */
  readonly missing: string
}

const PRODUCTION = Environment.PRODUCTION

/** What a merchant needs before its first payment in production, in the order in which an operator sets it up. */
export function checksOf(setup: MerchantSetup): readonly Check[] {
  const { merchant, configured_account_ids, enabled_account_ids, tested_endpoint_ids, funded_currencies } =
    setup
  const credentials = setup.credentials?.filter(
    ({ environment, status }) => environment === PRODUCTION && status === CredentialStatus.ACTIVE,
  )
  const routes = setup.routes?.filter(({ environment, enabled }) => environment === PRODUCTION && enabled)
  const endpoints = setup.endpoints?.filter(
    ({ environment, enabled }) => environment === PRODUCTION && enabled,
  )
  const open = credentials?.filter(({ ipAllowlist }) => ipAllowlist.length === 0)
  const without_account = routes?.filter(
    ({ providerAccounts }) => !providerAccounts.some((id) => enabled_account_ids?.has(id)),
  )
  const untested = endpoints?.filter(({ endpointId }) => !tested_endpoint_ids?.has(endpointId))
  const payouts = routes?.filter(({ direction }) => direction === Direction.OUT)
  const unfunded = payouts?.filter(({ currency }) => !funded_currencies?.has(currency))
  const some = <T>(all: readonly T[] | undefined): readonly T[] | undefined =>
    all?.length === 0 ? undefined : all
  return [
    fact('the merchant is active', merchant.status === MerchantStatus.ACTIVE, 'activate it'),
    fact('it may use production', merchant.environments.includes(PRODUCTION), 'add the environment'),
    exists('credential', credentials),
    all(
      'every credential has an IP allowlist',
      some(credentials) && open,
      ({ applicationId }) => applicationId,
    ),
    exists('route', routes),
    all(
      'every route has an enabled provider account',
      enabled_account_ids && some(routes) && without_account,
      ({ serviceId }) => serviceId,
    ),
    all(
      'routes name configured provider accounts only',
      configured_account_ids &&
        some(routes)?.flatMap((route) =>
          unconfiguredOf(route, configured_account_ids).map((account_id) => ({ route, account_id })),
        ),
      ({ route, account_id }) => `${account_id} of ${route.serviceId}`,
    ),
    exists('endpoint', endpoints),
    all(
      'every endpoint has accepted a test event',
      tested_endpoint_ids && some(endpoints) && untested,
      ({ url }) => url,
    ),
    ...(payouts !== undefined && payouts.length > 0
      ? [
          all(
            'payouts have money in their currency',
            funded_currencies && unfunded,
            ({ currency }) => currency,
          ),
        ]
      : []),
  ]
}

/** The accounts that a route names and that are not configured: no payment goes there. */
export function unconfiguredOf(
  { providerAccounts }: Pick<Route, 'providerAccounts'>,
  configured_account_ids: ReadonlySet<string>,
): readonly string[] {
  return providerAccounts.filter((account_id) => !configured_account_ids.has(account_id))
}

function fact(name: string, is_done: boolean, missing: string): Check {
  return { name, state: is_done ? 'done' : 'missing', missing: is_done ? '' : missing }
}

function exists(what: string, found: readonly unknown[] | undefined): Check {
  const name = `there is an enabled production ${what}`
  if (found === undefined) return { name, state: 'unknown', missing: '' }
  const is_done = found.length > 0
  return { name, state: is_done ? 'done' : 'missing', missing: is_done ? '' : `create a production ${what}` }
}

function all<T>(name: string, without: readonly T[] | undefined, nameOf: (item: T) => string): Check {
  if (without === undefined) return { name, state: 'unknown', missing: '' }
  const names = [...new Set(without.map(nameOf))].join(', ')
  return { name, state: names === '' ? 'done' : 'missing', missing: names === '' ? '' : `not: ${names}` }
}

/** A secret older than this should be replaced. */
const SECRET_AGE_MAX_MS = 365 * 24 * 3_600_000

/** Whether a secret is so old that it should be replaced; one that was never issued is not. */
export function isOldSecret(issued: Timestamp | undefined, now_ms: number): boolean {
  return issued !== undefined && now_ms - timestampMs(issued) > SECRET_AGE_MAX_MS
}
