import { upperFirst } from '#lib/base/letter-case.ts'
import type { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { PAYMENT_VIEW } from '#lib/contract/public-payment.ts'
import { CHARGEBACK_VIEW, REFUND_VIEW, TICKET_SNAPSHOT_VIEW } from '#lib/contract/public-support.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'
import { operationId } from './operation.ts'
import { RECORDED } from './recorded.ts'

/** The event of a test that the operator sends to one endpoint. */
const TEST_EVENT = 'webhook.test'

const EVENTS: Readonly<
  Record<(typeof PAYMENT_EVENTS)[number] | (typeof SUPPORT_EVENTS)[number] | typeof TEST_EVENT, string>
> = {
  'payment.created': 'A deposit or withdrawal was created.',
  'payment.completed': 'A payment has succeeded, and your balance shows it.',
  'payment.failed': 'A payment has failed or expired; `status.error` says why.',
  'payment.cancelled': 'A payment was canceled by the customer or the provider.',
  'payment.refunded': 'A refund of a deposit has succeeded.',
  'ticket.created': 'You have opened a ticket.',
  'ticket.updated': 'The description or the priority of a ticket has changed.',
  'ticket.status_changed': 'The status of a ticket has changed.',
  'ticket.comment.created': 'A comment was added to a ticket; `author` says by which side.',
  'ticket.reopened': 'A ticket was opened again.',
  'refund.requested': 'You have requested a refund.',
  'refund.status_changed': 'The status of a refund has changed.',
  'chargeback.created': 'A bank has taken a deposit back.',
  'webhook.test': 'The operator tests your endpoint; `data.result` is empty.',
}

const RESOURCES: Readonly<Record<string, JsonSchema>> = {
  payment: PAYMENT_VIEW.callback_schema,
  ticket: TICKET_SNAPSHOT_VIEW.callback_schema,
  refund: REFUND_VIEW.callback_schema,
  chargeback: CHARGEBACK_VIEW.callback_schema,
}

/** The name of the component for the callbacks about a kind of resource, such as `PaymentCallback`. */
export function callbackName(resource: string): string {
  return `${upperFirst(resource)}Callback`
}

const resourceName = (resource: string): string => `${callbackName(resource)}Resource`

function callbackSchema(result: JsonSchema): JsonSchema {
  return record({
    id: {
      type: 'string',
      description: 'The `h_id` and the event: the same each time that this callback is sent.',
    },
    created_at: { type: 'string', format: 'date-time' },
    data: record({
      next: { type: 'null' },
      result,
      success: { type: 'boolean', const: true, description: 'Of the callback, not of the payment.' },
      request_id: { type: 'string', description: 'New for each callback body; identifies nothing else.' },
      processing_time: { type: 'number', minimum: 0, description: 'In milliseconds.' },
    }),
    merchant_id: { type: 'string' },
  })
}

/** The schemas of the bodies of callbacks. */
export const WEBHOOK_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(
    Object.entries(RESOURCES).flatMap(([resource, schema]) => [
      [callbackName(resource), callbackSchema(record({ [resource]: componentRef(resourceName(resource)) }))],
      [resourceName(resource), schema],
    ]),
  ),
  [callbackName('webhook')]: callbackSchema({ type: 'object' }),
}

const HEADERS: Readonly<Record<string, string>> = {
  'X-Webhook-Id': 'The id of the delivery: the same for its retries, new for a resend.',
  'X-Webhook-Timestamp':
    'When this attempt was signed. Refuse one that is more than 5 minutes from your clock.',
  'X-Webhook-Nonce': 'New for every attempt.',
  'X-Webhook-Signature-V3':
    'HMAC-SHA512, keyed with the secret for callbacks, of timestamp, nonce, id and the bytes of the body, joined by ' +
    'dots, as 128 lower-case hexadecimal digits. Verify this one.',
  'X-Webhook-Signature-V2': 'SHA-512 of timestamp, body and secret. For older receivers.',
  'X-Data-Hash': 'SHA-512 of body and secret. For older receivers.',
}

const PARAMETERS = Object.entries(HEADERS).map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}))

/** Every callback that Multihub sends to merchants, by its event. */
export const WEBHOOKS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(EVENTS).map(([event, summary]) => {
    const [resource = ''] = event.split('.')
    const example = RECORDED.callbacks[event]
    const operation = {
      operationId: operationId(`on.${event.replaceAll('_', '.')}`),
      summary,
      tags: ['Callbacks'],
      // A callback is proved by its signature, and is sent without a credential.
      security: [],
      parameters: PARAMETERS,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: componentRef(callbackName(resource)),
            ...(example && { example }),
          },
        },
      },
      responses: {
        '2XX': { description: 'You have stored the callback. Any other answer has it sent again.' },
      },
    }
    return [event, { post: operation }]
  }),
)
