import type { Client } from '@connectrpc/connect'
import type { Environment as ProtoEnvironment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  type Change,
  ChangeKind,
  type GetCredentialResponse,
  type ListChangesResponse,
  type RegistryService,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { deepFreeze, type Frozen } from '#lib/base/deep-freeze.ts'
import { clock } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { createChangeWatch, READ_TIMEOUT_MS } from './change-watch.ts'
import {
  CACHE_LIMITS,
  type CacheLimits,
  createReadThroughCache,
  type ReadThroughCache,
} from './read-through-cache.ts'

/** The merchants service may have issued this many more ids since the last response, so these ids are read. */
const AHEAD_MAX = 1_000

/**
 * Creates a range that is unknown at first, while `isConfirmed` says that the last response is too old, and after a
 * response of a version of the merchants service that sends no range.
 */
function createIssuedIdRange(isConfirmed: () => boolean) {
  let range: { lowest: number; highest: number } | undefined

  return {
    /** Takes the range from a response. The highest id never falls, because responses can arrive out of order. */
    update(response: Pick<ListChangesResponse, 'lowestApplicationId' | 'highestApplicationId'>) {
      const highest = Number(response.highestApplicationId)
      const lowest = Number(response.lowestApplicationId)
      range = highest === 0 ? undefined : { lowest, highest: Math.max(highest, range?.highest ?? 0) }
    },
    /** Extends the range to the id of an existing credential. */
    include(application_id: string) {
      const number = Number(application_id)
      if (range && number > range.highest) range.highest = number
    },
    /** Whether the id may name a credential. `true` while the range is unknown. */
    mayContain(application_id: string): boolean {
      if (!range || !isConfirmed()) return true
      const number = Number(application_id)
      return number >= range.lowest && number <= range.highest + AHEAD_MAX
    },
  }
}

interface MerchantEnvironment {
  readonly merchantId: string
  readonly environment: ProtoEnvironment
}

/** Makes the cache of one kind of list. `createReadThroughCache` explains the other parameters. */
function createMerchantLists<T>(
  read: (request: MerchantEnvironment) => Promise<readonly T[]>,
  confirmedAtMs: () => number,
  limits: CacheLimits,
) {
  const cache = createReadThroughCache<readonly Frozen<T>[]>(
    async (key) => {
      const request = parseKey(key)
      return { merchant_id: request.merchantId, value: deepFreeze(await read(request)) }
    },
    confirmedAtMs,
    limits,
  )
  return {
    get: async (merchant_id: string, environment: Environment) =>
      (await cache.get(keyOf(merchant_id, environment))) ?? [],
    /** The list by a read that began after `instant`. */
    getReadAfter: async (merchant_id: string, environment: Environment, instant: Date) =>
      (await cache.getReadAfter(keyOf(merchant_id, environment), instant)) ?? [],
    /** Drops both lists of a merchant. */
    drop(merchant_id: string) {
      for (const environment of ['test', 'production'] as const) cache.drop(keyOf(merchant_id, environment))
    },
    dropAll: () => cache.dropAll(),
  }
}

function keyOf(merchant_id: string, environment: Environment): string {
  return `${environment}/${merchant_id}`
}

function parseKey(key: string): MerchantEnvironment {
  const [environment, merchantId = ''] = key.split('/')
  return { merchantId, environment: ENVIRONMENTS.toProto(environment === 'test' ? 'test' : 'production') }
}

/** A route and the merchant's settings that a payment needs. */
export interface RouteEntry {
  readonly route: Frozen<Route>
  /** The IANA timezone in which the merchant's payout limits reset. */
  readonly timezone: string
}

/** The dependencies of a registry cache. `role` names the role that uses it in the log and the metric. */
interface RegistryCacheOptions {
  readonly client: Client<typeof RegistryService>
  readonly bus: Bus
  readonly role: string
  readonly limits?: CacheLimits
}

/**
 * The cached registry of a process, shared by all its requests. Blocking a credential takes effect within 5 s while the
 * merchants service can be reached, otherwise within 60 s. After that, reads throw `PublicError` 2002. All values are
 * frozen.
 */
export type RegistryCache = ReturnType<typeof createRegistryCache>

/** Creates a registry cache. Call `start` when the role starts: before that, reads work but changes are not noticed. */
export function createRegistryCache({ client, bus, role, limits = CACHE_LIMITS }: RegistryCacheOptions) {
  const credential_caches: ReadThroughCache<unknown>[] = []
  const issued_ids = createIssuedIdRange(
    () => clock.monotonic_ms() - watch.confirmedAtMs() < limits.unconfirmed_max_ms,
  )
  const watch = createChangeWatch({
    client,
    bus,
    role,
    onResponse: issued_ids.update,
    onChanges,
    onUnknownChanges,
  })
  const call = { timeoutMs: READ_TIMEOUT_MS }
  const routes = createReadThroughCache<RouteEntry>(
    async (serviceId) => {
      const { route, timezone } = await client.getRoute({ serviceId }, call)
      return route && { merchant_id: route.merchantId, value: deepFreeze({ route, timezone }) }
    },
    watch.confirmedAtMs,
    limits,
  )
  const route_lists = createMerchantLists(
    async (request) => (await client.listMerchantRoutes(request, call)).routes,
    watch.confirmedAtMs,
    limits,
  )
  const endpoint_lists = createMerchantLists(
    async (request) => (await client.listMerchantEndpoints(request, call)).endpoints,
    watch.confirmedAtMs,
    limits,
  )

  function onChanges(changes: readonly Change[]): void {
    for (const { kind, id, merchantId } of changes) {
      if (kind === ChangeKind.CREDENTIAL) {
        issued_ids.include(id)
        for (const cache of credential_caches) cache.drop(id)
      }
      if (kind === ChangeKind.ROUTE) {
        routes.drop(id)
        route_lists.drop(merchantId)
      }
      if (kind === ChangeKind.ENDPOINT) endpoint_lists.drop(merchantId)
    }
    const merchants = changes.filter(({ kind }) => kind === ChangeKind.MERCHANT).map(({ id }) => id)
    for (const cache of [...credential_caches, routes]) cache.dropMerchants(merchants)
  }

  function onUnknownChanges(): void {
    for (const cache of [...credential_caches, routes, route_lists, endpoint_lists]) cache.dropAll()
  }

  return {
    /**
     * Creates the lookup of credentials for the gateway. `unseal` maps a response to what requests need, with the secrets
     * decrypted, once per read and not per request. It must not throw, because invalid settings are a valid result. Ids far
     * above the last issued one cost no read.
     */
    credentials<C>(unseal: (response: GetCredentialResponse) => C) {
      const cache = createReadThroughCache<C>(
        async (applicationId) => {
          const response = await client.getCredential({ applicationId }, call)
          const { credential } = response
          return credential && { merchant_id: credential.merchantId, value: unseal(response) }
        },
        watch.confirmedAtMs,
        limits,
      )
      credential_caches.push(cache)
      return async (application_id: string) =>
        issued_ids.mayContain(application_id) ? cache.get(application_id) : undefined
    },
    route: (service_id: string) => routes.get(service_id),
    /** The routes of a merchant in the order of their ids. */
    merchantRoutes: route_lists.get,
    /** The endpoints of a merchant in the order of their creation, secrets sealed for `ownerOfEndpointSecret`. */
    merchantEndpoints: endpoint_lists.get,
    /** The endpoints by a read that began after `instant`, so that an endpoint added before an event receives it. */
    endpointsReadAfter: endpoint_lists.getReadAfter,
    /** Whether the registry has responded since the start. Before that, no request can be authorized. */
    hasResponded: () => watch.confirmedAtMs() > Number.NEGATIVE_INFINITY,
    start: watch.start,
    stop: watch.stop,
  }
}
