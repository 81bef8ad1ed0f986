import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { ChangeSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { installManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { CHANGES_SUBJECT } from './change-watch.ts'
import type { RegistryCache } from './registry-cache.ts'

/** What registry caches need: a bus, and a manual clock in this process. Disposal gives the clock back. */
export interface RegistryCacheFixture extends AsyncDisposable {
  readonly clock: ManualClock
  readonly bus: Bus
  /** Starts a registry cache and waits for its first poll. Disposal stops it. */
  start(registry_cache: RegistryCache): Promise<void>
  /** Publishes a notice of a change, and waits until the registry caches have handled it. */
  notify(change: MessageInitShape<typeof ChangeSchema>): Promise<void>
}

/** Opens the bus and sets the clock. */
export function openRegistryCaches(): RegistryCacheFixture {
  const clock = installManualClock()
  const bus = createMemoryBus()
  const started: RegistryCache[] = []
  return {
    clock,
    bus,
    async start(registry_cache) {
      await registry_cache.start()
      started.push(registry_cache)
      await clock.advance(0)
    },
    async notify(change) {
      await bus.publish(CHANGES_SUBJECT, toBinary(ChangeSchema, create(ChangeSchema, change)))
      await clock.advance(0)
    },
    async [Symbol.asyncDispose]() {
      for (const registry_cache of started) await registry_cache.stop()
      await bus.close()
      clock[Symbol.dispose]()
    },
  }
}
