import type { Chargeback } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/chargeback-status.ts'
import { chargebackObject } from '#lib/contract/public-support/public-chargeback.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'

/** The public chargeback (S10). */
export function toChargebackResult(chargeback: Chargeback | undefined): unknown {
  if (!chargeback) throw new TypeError('support answered without a chargeback')
  return chargebackObject(chargeback, 'response')
}

const instant = (description: string): JsonSchema => ({ type: 'string', format: 'date-time', description })

const STATUS: JsonSchema = { type: 'string', enum: CHARGEBACK_STATUSES.names }

const HISTORY_ENTRY = record(
  { status: STATUS, created: instant('When the status was entered.'), note: { type: 'string' } },
  ['note'],
)

const CHARGEBACK = record(
  {
    identifiers: record({ h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' } }),
    payment: record({
      c_id: { type: 'string', description: 'Your own reference of the payment.' },
      h_id: { type: 'string', description: 'The `h_id` of the payment.' },
    }),
    amount: { type: 'integer', description: 'In minor units; it was taken from your balance.' },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    reason_code: { type: 'string', description: 'The code of the card network or the bank.' },
    status: { ...STATUS, description: 'A chargeback that you have `won` was credited back.' },
    deadline_at: instant('When evidence must have arrived.'),
    history: { type: 'array', items: componentRef('ChargebackHistoryEntry') },
    created_at: instant('When the chargeback was opened.'),
    updated_at: instant('When its status last changed, or evidence was added.'),
  },
  ['deadline_at'],
)

/** The schema of a chargeback. */
export const CHARGEBACK_RESULT = componentRef('Chargeback')

/** The schemas that `CHARGEBACK_RESULT` refers to. */
export const CHARGEBACK_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Chargeback: CHARGEBACK,
  ChargebackHistoryEntry: HISTORY_ENTRY,
}
