import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HoldLimits, HoldLimitsSchema } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { fitsInt64 } from '#lib/contract/money.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { isTimezone } from '#lib/contract/timezone.ts'
import type { PayoutLimits } from '../domain/payout-limits.ts'

/** Reads the limits of a withdrawal. Throws `PublicError` with the path of a field: 1005 missing, 9000 not allowed. */
export function limitsFromProto(limits: HoldLimits): PayoutLimits {
  const { serviceId, maximum, daily, monthly, sinceSettlement: since_settlement } = limits
  const service_id = Number(requiredText(serviceId === '0' ? '' : serviceId, 'limits.service_id'))
  if (!Number.isSafeInteger(service_id) || service_id < 0) throw fieldError(9000, 'limits.service_id')
  const timezone = requiredText(limits.timezone, 'limits.timezone')
  if (!isTimezone(timezone)) throw fieldError(9000, 'limits.timezone')
  const amounts = { maximum, daily, monthly, since_settlement }
  for (const [name, amount] of Object.entries(amounts))
    if (amount < 0n || !fitsInt64(amount)) throw fieldError(9000, `limits.${name}`)
  return { service_id, timezone, ...amounts }
}

/** Maps the limits of a withdrawal. */
export function limitsToProto(limits: PayoutLimits): MessageInitShape<typeof HoldLimitsSchema> {
  const { service_id, since_settlement: sinceSettlement, ...same } = limits
  return { serviceId: String(service_id), sinceSettlement, ...same }
}
