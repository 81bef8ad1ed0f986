import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import type { DocumentCodec } from '#lib/store/coded-collection.ts'
import type { StoredEvent } from '../domain/event.ts'

function placeOf({ event_key }: Pick<StoredEvent, 'event_key'>): string {
  return `body:${event_key}`
}

/** The form in which events are stored: the body of the callback is sealed, because it may identify a person (O11). */
export function eventCodec({ seal, open }: PersonSealer): DocumentCodec<StoredEvent, StoredEvent> {
  return {
    encode: (event) => ({
      ...event,
      body: event.body && seal(event.body, event.merchant_id, placeOf(event)),
    }),
    decode: (event) => ({
      ...event,
      body: event.body && open(event.body, event.merchant_id, placeOf(event)),
    }),
  }
}

/** The sealed body of a stored event under the active key: the same bytes if they are. */
export function resealBody(
  event: StoredEvent,
  { reseal }: Pick<PersonSealer, 'reseal'>,
): Uint8Array | undefined {
  return event.body && reseal(event.body, event.merchant_id, placeOf(event))
}
