import { create, toBinary } from '@bufbuild/protobuf'
import { type ChangeKind, ChangeSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/registry-cache/change-watch.ts'
import { log } from '#lib/telemetry/log.ts'

/** Announces that a document of the registry was created or updated. `id` is that of the document. */
export type AnnounceChange = (kind: ChangeKind, id: string | number, merchant_id: string) => Promise<void>

/**
 * Creates the announcer, which publishes each change on the bus so that caches drop the entry at once. A failed
 * publication is logged and the write succeeds: every process also calls `ListChanges` once per second.
 */
export function createAnnounceChange(bus: Bus): AnnounceChange {
  return async (kind, id, merchant_id) => {
    try {
      const change = create(ChangeSchema, { kind, id: String(id), merchantId: merchant_id })
      await bus.publish(CHANGES_SUBJECT, toBinary(ChangeSchema, change))
    } catch (error) {
      log.warn({ role: 'merchants', merchant_id, error }, 'change of the registry was not announced')
    }
  }
}
