import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { EventName } from '#lib/contract/events.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'

/** An event of a resource of support. */
interface SupportEvent {
  readonly scope: MerchantScope
  /** The public id of the resource. */
  readonly h_id: string
  readonly event: EventName
  /** The number of the event among the events of its name, for an event that can repeat for one resource (S12). */
  readonly number?: number | undefined
  /** What tells such an event apart from the others of its name, whatever number it has after a restore (P18). */
  readonly fact?: string | undefined
  /** The resource as it is after the event. The notifier shows a part of it only. */
  readonly resource: MerchantEvent['resource']
  readonly at: Date
  /** The id of the effect that must be gone before the event. */
  readonly after?: string | undefined
}

/**
 * Makes the effect that publishes an event of a resource of support. The public id of its callback is `<h_id>:<event>`, and
 * `:<n>` for an event that can repeat (S12). Its key has the fact in place of `n`.
 */
export function newSupportEvent({
  scope,
  h_id,
  event,
  number,
  fact,
  resource,
  at,
  after,
}: SupportEvent): Effect {
  const event_key = fact === undefined ? `${h_id}:${event}` : `${h_id}:${event}:${fact}`
  const message = create(MerchantEventSchema, {
    eventKey: event_key,
    event,
    ...scopeToProto(scope),
    createTime: timestampFromDate(at),
    resource,
    number: number ?? 0,
  })
  const encoded = toBinary(MerchantEventSchema, message)
  return publishEventEffect.newEffect(undefined, { event_key, event, message: encoded }, { at, after })
}
