import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { refundObject } from '#lib/contract/public-support/public-refund.ts'
import { REFUND_STATUSES } from '#lib/contract/refund-status.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'

/** The public refund (S7). */
export function toRefundResult(refund: Refund | undefined): unknown {
  if (!refund) throw new TypeError('support answered without a refund')
  return refundObject(refund, 'response')
}

const instant = (description: string): JsonSchema => ({ type: 'string', format: 'date-time', description })

const REFUND = record(
  {
    identifiers: record({
      c_id: { type: 'string', description: 'Your own reference.' },
      h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' },
    }),
    payment: record({
      c_id: { type: 'string', description: 'Your own reference of the payment.' },
      h_id: { type: 'string', description: 'The `h_id` of the payment.' },
    }),
    amount: {
      type: 'string',
      pattern: '^[1-9][0-9]*$',
      description: 'In minor units. It is a text, unlike the amounts of payments.',
    },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    status: {
      type: 'string',
      enum: REFUND_STATUSES.names,
      description: '`pending` and `approved` are active; all others are final.',
    },
    reason: { type: 'string', description: 'Your own reason.' },
    created_at: instant('When you requested the refund.'),
    updated_at: instant('When its status last changed.'),
  },
  ['reason'],
)

/** The schema of a refund. */
export const REFUND_RESULT = componentRef('Refund')

/** The schemas that `REFUND_RESULT` refers to. */
export const REFUND_COMPONENTS: Readonly<Record<string, JsonSchema>> = { Refund: REFUND }
