import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import type { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createMemoryTransport } from '#lib/rpc/client/memory-transport.ts'
import { createCallerAuthenticator } from '#lib/rpc/credentials.ts'
import { createDispatcher } from '#lib/rpc/server/dispatch.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { withOperationIds } from '../../test/support/operation-ids.ts'
import { role } from './service.ts'
import { type MerchantsStore, openMerchantsStore } from './store/merchants-store.ts'

/** The real service, called over in-memory RPC, with an embedded store in a temporary directory. */
export interface Fixture {
  readonly bus: Bus
  readonly keys: Keys
  /** The stored documents, for tests of what no RPC shows. */
  readonly store: MerchantsStore
  client<S extends DescService>(service: S, caller?: CallerName): Client<S>
  /** Creates a merchant with these environments, and returns its id. */
  createMerchant(...environments: readonly Environment[]): Promise<string>
  close(): Promise<void>
}

/** Starts the service. `open` opens another store than the embedded one; `clock_guard` replaces trust in the clock. */
export async function createFixture(
  open = (directory: string): Promise<Store> =>
    openStore({ database: 'merchants', directory, timeout_ms: HANG_LIMIT_MS }),
  clock_guard: ClockGuard = trustedClock,
): Promise<Fixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-merchants-'))
  const database = await open(directory)
  const bus = createMemoryBus()
  const keys = testKeys()
  const running = await role.start({
    variables: { MULTIHUB_CALLBACK_ALLOW: '127.0.0.1/32' },
    clientOf: () => {
      throw new Error('merchants calls no other service')
    },
    bus,
    openStore: async () => database,
    clock_guard,
    keys,
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
  })
  const endpoints = running.services.flatMap(createDispatcher(createCallerAuthenticator([], []), log))
  const client: Fixture['client'] = (service, caller = 'backoffice') => {
    const transport = createMemoryTransport(caller, (called) =>
      endpoints.find(({ method }) => method === called),
    )
    return withOperationIds(createClient(service, transport))
  }
  return {
    bus,
    keys,
    store: await openMerchantsStore(database),
    client,
    async createMerchant(...environments) {
      const given = { name: 'Alpha', timezone: 'UTC', environments: [...environments] }
      return (await client(MerchantService).createMerchant(given)).merchant?.merchantId ?? ''
    },
    async close() {
      await running.stop()
      await bus.close()
      await database.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
