import type { Client } from '@connectrpc/connect'
import type { Environment as ProtoEnvironment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  type Change,
  ChangeKind,
  type DirectoryService,
  type GetCredentialResponse,
  type SealedEndpoint,
} from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type Environment, environmentToProto } from '#lib/contract/environment.ts'
import type { Bus } from '#lib/platform/bus/port.ts'
import { deepFreeze, type Frozen } from '#lib/platform/deep-freeze.ts'
import { clock } from '#lib/platform/time.ts'
import {
  CACHE_LIMITS,
  type CachedValue,
  type CacheLimits,
  createRegistryCache,
  type RegistryCache,
} from './cache.ts'
import { createIssuedIdRange } from './issued-id-range.ts'
import { createChangeWatch, READ_TIMEOUT_MS } from './watch.ts'

/** A route with what a payment needs of its merchant. */
export interface RouteEntry {
  readonly route: Frozen<Route>
  /** The IANA timezone in which the merchant's payout limits reset. */
  readonly timezone: string
}

/** What a directory needs. `role` names whose cache it is, in the log and the metric. */
export interface DirectoryOptions {
  readonly client: Client<typeof DirectoryService>
  readonly bus: Bus
  readonly role: string
  readonly limits?: CacheLimits
}

/**
 * The registry as a process sees it: cached, shared by all requests, at most 5 s behind a block while merchants is
 * reachable and at most 60 s when it is not; then the reads throw `PublicError` 2002. What it hands out is frozen.
 */
export interface Directory {
  /**
   * Makes the look-up of credentials, once, for the gateway. `open` turns an answer into what requests need (its
   * secrets opened) once a read and not once a request. It must not throw: settings that are broken are a finding.
   * Numbers far beyond the last one that merchants gave cost no read: strangers can think of any number of them.
   */
  credentials<C>(
    open: (answer: GetCredentialResponse) => C,
  ): (application_id: string) => Promise<C | undefined>
  route(service_id: string): Promise<RouteEntry | undefined>
  /** The routes of a merchant in the order of their numbers. */
  merchantRoutes(merchant_id: string, environment: Environment): Promise<readonly Frozen<Route>[]>
  /** The endpoints of a merchant in the order of their creation, secrets sealed under `endpointContext`. */
  merchantEndpoints(merchant_id: string, environment: Environment): Promise<readonly Frozen<SealedEndpoint>[]>
  /** The same, at least as new as something that happened at `instant`: an endpoint added before it is there. */
  endpointsAsOf(
    merchant_id: string,
    environment: Environment,
    instant: Date,
  ): Promise<readonly Frozen<SealedEndpoint>[]>
  /** Whether the registry has answered since the start: before that nobody can say who may do what. */
  hasResponded(): boolean
  start(): Promise<void>
  stop(): Promise<void>
}

interface Owner {
  readonly merchantId: string
  readonly environment: ProtoEnvironment
}

/** Makes a directory. Reads work before `start`, but nothing is noticed; call it when the role starts. */
export function createDirectory(options: DirectoryOptions): Directory {
  const { client, bus, role, limits = CACHE_LIMITS } = options
  const credentialCaches: RegistryCache<unknown>[] = []
  const numbers = createIssuedIdRange(
    () => clock.monotonic_ms() - watch.confirmedAtMs() < limits.unconfirmed_max_ms,
  )
  const watch = createChangeWatch({
    client,
    bus,
    role,
    onResponse: numbers.update,
    onChange: changed,
    onUnknownChanges: changedAll,
  })
  const call = { timeoutMs: READ_TIMEOUT_MS }

  const routes = createRegistryCache<RouteEntry>(
    async (serviceId) => {
      const { route, timezone } = await client.getRoute({ serviceId }, call)
      return route && { merchant_id: route.merchantId, value: deepFreeze({ route, timezone }) }
    },
    watch.confirmedAtMs,
    limits,
  )
  const routeLists = listsBy(async (owner) => (await client.listMerchantRoutes(owner, call)).routes)
  const endpointLists = listsBy(async (owner) => (await client.listMerchantEndpoints(owner, call)).endpoints)

  function listsBy<T>(read: (owner: Owner) => Promise<readonly T[]>): RegistryCache<readonly Frozen<T>[]> {
    const readFrozen = async (key: string): Promise<CachedValue<readonly Frozen<T>[]>> => {
      const owner = ownerOf(key)
      return { merchant_id: owner.merchantId, value: deepFreeze(await read(owner)) }
    }
    return createRegistryCache(readFrozen, watch.confirmedAtMs, limits)
  }

  function changed({ kind, id, merchantId }: Change): void {
    if (kind === ChangeKind.CREDENTIAL) {
      numbers.include(id)
      for (const cache of credentialCaches) cache.drop(id)
    }
    if (kind === ChangeKind.ROUTE) routes.drop(id)
    for (const environment of ['test', 'production'] as const) {
      if (kind === ChangeKind.ROUTE) routeLists.drop(keyOf(merchantId, environment))
      if (kind === ChangeKind.ENDPOINT) endpointLists.drop(keyOf(merchantId, environment))
    }
    if (kind === ChangeKind.MERCHANT)
      for (const cache of [...credentialCaches, routes]) cache.dropMerchant(id)
  }

  function changedAll(): void {
    for (const cache of [...credentialCaches, routes, routeLists, endpointLists]) cache.dropAll()
  }

  return {
    credentials<C>(open: (answer: GetCredentialResponse) => C) {
      const cache = createRegistryCache<C>(
        async (applicationId) => {
          const answer = await client.getCredential({ applicationId }, call)
          const { credential } = answer
          return credential && { merchant_id: credential.merchantId, value: open(answer) }
        },
        watch.confirmedAtMs,
        limits,
      )
      credentialCaches.push(cache)
      return (application_id) =>
        numbers.mayContain(application_id) ? cache.get(application_id) : Promise.resolve(undefined)
    },
    route: (service_id) => routes.get(service_id),
    merchantRoutes: async (merchant_id, environment) =>
      (await routeLists.get(keyOf(merchant_id, environment))) ?? [],
    merchantEndpoints: async (merchant_id, environment) =>
      (await endpointLists.get(keyOf(merchant_id, environment))) ?? [],
    endpointsAsOf: async (merchant_id, environment, instant) =>
      (await endpointLists.getSince(keyOf(merchant_id, environment), instant)) ?? [],
    hasResponded: () => watch.confirmedAtMs() > Number.NEGATIVE_INFINITY,
    start: watch.start,
    stop: watch.stop,
  }
}

function keyOf(merchant_id: string, environment: Environment): string {
  return `${environment}/${merchant_id}`
}

function ownerOf(key: string): Owner {
  const [environment, merchantId = ''] = key.split('/')
  return { merchantId, environment: environmentToProto(environment === 'test' ? 'test' : 'production') }
}
