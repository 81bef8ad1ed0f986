import { create, toBinary } from '@bufbuild/protobuf'
import { type ChangeKind, ChangeSchema } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/directory/watch.ts'
import type { Bus } from '#lib/platform/bus/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'

/** Says that something was written. */
export type Announce = (kind: ChangeKind, id: string | number, merchant_id: string) => Promise<void>

/**
 * Makes the announcer. A notice only hastens what every process learns by asking once a second, so one that cannot be
 * sent is logged and the write stands.
 */
export function createAnnounce(bus: Bus): Announce {
  return async (kind, id, merchant_id) => {
    try {
      const change = create(ChangeSchema, { kind, id: String(id), merchantId: merchant_id })
      await bus.publish(CHANGES_SUBJECT, toBinary(ChangeSchema, change))
    } catch (error) {
      log.warn({ role: 'merchants', merchant_id, error }, 'a change of the registry could not be announced')
    }
  }
}
