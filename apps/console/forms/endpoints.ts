import type { Endpoint } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { addressOf } from '../values/addresses.ts'
import { type Act, act, issuedSecret } from './act.ts'
import { environmentField } from './environments.ts'
import type { FormField } from './fields.ts'

const COMMON: readonly FormField[] = [
  { name: 'url', label: 'URL', help: 'http or https; https in production. A public address.' },
  { name: 'events', kind: 'checks', choices: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS] },
  {
    name: 'timeout_seconds',
    label: 'Time-out of a try',
    is_rare: true,
    help: '5 s to 60 s; at first 30 s.',
  },
  { name: 'max_retries', label: 'Retries', is_rare: true, help: '1 to 10; at first 3.' },
  {
    name: 'retry_delay_seconds',
    label: 'First pause between tries',
    is_rare: true,
    help: '1 s to 1 h, longer after each try; at first 1 s.',
  },
]

/** A new endpoint of a merchant. */
export const createEndpoint = act({
  name: 'New endpoint',
  method: EndpointService.method.createEndpoint,
  keys: 'n e',
  reason: 'optional',
  effects: () => [
    'Callbacks of the events are sent to the URL. The secret that signs them is shown once, after this.',
  ],
  fields: (merchant: Merchant) => [
    environmentField(merchant),
    ...COMMON.map((field) =>
      field.name === 'events' ? { ...field, initial: PAYMENT_EVENTS.join('\n') } : field,
    ),
  ],
  request: ({ merchantId }) => ({ merchantId }),
  outcome: ({ secret }) => issuedSecret(secret, ['The endpoint gets the next event.']),
})

function setEnabled(name: string, enabled: boolean, effect: string): Act<Endpoint> {
  return act({
    name,
    method: EndpointService.method.updateEndpoint,
    isOffered: (endpoint: Endpoint) => endpoint.enabled !== enabled,
    effects: ({ url }) => [`${url}: ${effect}`],
    request: ({ endpointId }) => ({ endpointId, enabled }),
  })
}

/** What can be done with an endpoint. */
export const endpoint_acts: readonly Act<Endpoint>[] = [
  act({
    name: 'Send test event',
    method: DeliveryService.method.sendTestEvent,
    reason: 'optional',
    isOffered: ({ enabled }: Endpoint) => enabled,
    effects: ({ url }) => [`A callback with the event webhook.test is sent to ${url}.`],
    request: ({ endpointId }) => ({ endpointId }),
    outcome: ({ deliveryId }) => ({
      sentences: ['The test event is on its way.'],
      address: addressOf('delivery', deliveryId),
    }),
  }),
  act({
    name: 'Edit',
    method: EndpointService.method.updateEndpoint,
    edits: true,
    effects: ({ endpointId }: Endpoint) => [
      `Endpoint ${endpointId} is changed for new events. Without events it gets none.`,
    ],
    fields: () => COMMON,
    request: ({ endpointId }) => ({ endpointId }),
  }),
  act({
    name: 'Replace secret',
    method: EndpointService.method.rotateEndpointSecret,
    effects: ({ url }: Endpoint) => [
      `Callbacks to ${url} are signed with a new secret at once, retries too. It is shown once, after this.`,
      'Until the receiver knows it, it takes callbacks for forged.',
    ],
    request: ({ endpointId }) => ({ endpointId }),
    outcome: ({ secret }) => issuedSecret(secret),
  }),
  setEnabled('Enable', true, 'it gets new events again.'),
  setEnabled('Disable', false, 'it gets no new events. Callbacks that were begun go on.'),
]
