import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { MongoClient } from 'mongodb'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import type { Tls } from '#lib/http/tls.ts'
import type { Role, RoleName, RunningRole } from '#lib/role/role.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { trustedClock } from './clock-guard.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import { withOperationIds } from './operation-ids.ts'
import { rpcConfig } from './rpc.ts'
import { type CallsByRequest, withOutages, withRecordedCalls } from './store.ts'

/** Roles that run inside the process of a test, with real stores and ports and with in-memory RPC. */
export interface TestRoles extends AsyncDisposable {
  readonly bus: Bus
  readonly keys: Keys
  /** The URLs that the roles opened, by name. */
  readonly urls: Readonly<Record<string, string>>
  client<S extends DescService>(service: S, caller: CallerName): Client<S>
  /** The store that a role has opened. */
  storeOf(role: string): Store
  /** The directory of the embedded stores, with one for each role. */
  readonly directory: string
  /** The database of a role that is on a server. */
  databaseOf(role: string): string
  /** Makes the store of a role unavailable or available again. */
  setStoreUnavailable(role: string, unavailable: boolean): void
  /** The calls that the public requests have made to the stores of all roles, by their request ids. */
  readonly store_calls: CallsByRequest
  /** What the roles cannot do although they are ready, as `/readyz` shows it. */
  limitations(): readonly string[]
  /** Announces to the roles that the process will stop, without stopping them. */
  announceStop(): void
}

/** What the roles of a test share, unless that is a new directory, which is deleted at the end, and a bus in memory. */
export interface RolesPlace {
  /** A bus, which is closed at the end. */
  readonly bus?: Bus
  /** A directory that is kept. */
  readonly directory?: string
  /** The certificate of the ports that the roles open for others. */
  readonly tls?: Tls
  /** A server for some of the roles, in new databases that are dropped at the end. */
  readonly mongodb?: { readonly uri: string; readonly roles: readonly RoleName[] }
}

/** Starts roles in the given order. */
export async function startRoles(
  roles: readonly Role[],
  variables: Readonly<Record<string, string>>,
  { directory: kept_directory, mongodb, tls, bus = createMemoryBus() }: RolesPlace = {},
): Promise<TestRoles> {
  const directory = kept_directory ?? (await mkdtemp(join(tmpdir(), 'multihub-roles-')))
  const databases = new Map<string, string>()
  const rpc = await createRpc(rpcConfig())
  const keys = testKeys()
  const stopping = new AbortController()
  const role_variables: Record<string, string> = { ...variables }
  const urls: Record<string, string> = {}
  const unavailable = new Set<string>()
  const stores = new Map<string, Store>()
  const running: RunningRole[] = []
  const store_calls: CallsByRequest = new Map()
  const end = async (): Promise<void> => {
    stopping.abort()
    for (const started of running.reverse()) await started.stop()
    await bus.close()
    rpc.close()
    for (const store of stores.values()) await store.close()
    if (mongodb) await dropDatabases(mongodb.uri, [...databases.values()])
    if (kept_directory === undefined) await rm(directory, { recursive: true, force: true })
  }

  for (const role of roles) {
    const started = await role.start({
      variables: role_variables,
      clientOf: rpc.clientsOf(role.name === 'sandbox' ? 'internal' : role.name),
      urls,
      tls,
      bus,
      clock_guard: trustedClock,
      keys,
      draining: stopping.signal,
      stopping: stopping.signal,
      async openStore() {
        const place = { database: role.name, directory, timeout_ms: HANG_LIMIT_MS }
        const is_on_server = mongodb?.roles.includes(role.name) === true
        const database = `test_${randomHex(6)}_${role.name}`
        if (is_on_server) databases.set(role.name, database)
        const store = await openStore(
          is_on_server ? { ...place, database, mongodb_uri: new Secret(mongodb.uri) } : place,
        )
        stores.set(role.name, store)
        const mortal = withOutages(store, () => unavailable.has(role.name))
        return withRecordedCalls(mortal, store_calls)
      },
    })
    running.push(started)
    rpc.add(started.services)
    Object.assign(urls, await started.open?.())
    if (urls['sandbox_url']) role_variables['MULTIHUB_SANDBOX_URL'] = urls['sandbox_url']
    if (urls['attachments_url']) role_variables['MULTIHUB_ATTACHMENTS_URL'] = urls['attachments_url']
  }
  return {
    bus,
    keys,
    urls,
    client: (service, caller) => withOperationIds(rpc.clientsOf(caller)(service)),
    storeOf(role) {
      const store = stores.get(role)
      if (!store) throw new Error(`the role ${role} has no store`)
      return store
    },
    directory,
    databaseOf(role) {
      const database = databases.get(role)
      if (database === undefined) throw new Error(`the role ${role} is not on a server`)
      return database
    },
    setStoreUnavailable: (role, is_unavailable) =>
      void (is_unavailable ? unavailable.add(role) : unavailable.delete(role)),
    store_calls,
    limitations: () => running.flatMap((role) => role.limitations?.() ?? []),
    announceStop: () => stopping.abort(),
    [Symbol.asyncDispose]: end,
  }
}

async function dropDatabases(uri: string, databases: readonly string[]): Promise<void> {
  await using client = new MongoClient(uri)
  for (const database of databases) await client.db(database).dropDatabase()
}
