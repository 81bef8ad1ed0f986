import { defineEffect, isBytes, isText } from './define-effect.ts'

/** The effect that publishes an event. `message` is the encoded `MerchantEvent`. */
export const publishEventEffect = defineEffect({
  kind: 'publish_event',
  lane: 'event',
  data: { event_key: isText, event: isText, message: isBytes },
  id: (_document: unknown, { event_key }) => `${event_key}:event`,
})
