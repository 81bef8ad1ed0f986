import { ChargebackStatus as ChargebackStatusProto } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { createEnumMap } from './proto-fields.ts'

/** The status of a chargeback, under its public name (S10). */
export type ChargebackStatus = 'open' | 'under_review' | 'won' | 'lost' | 'accepted'

/** The statuses in RPCs. */
export const CHARGEBACK_STATUSES = createEnumMap<ChargebackStatus, ChargebackStatusProto>({
  open: ChargebackStatusProto.OPEN,
  under_review: ChargebackStatusProto.UNDER_REVIEW,
  won: ChargebackStatusProto.WON,
  lost: ChargebackStatusProto.LOST,
  accepted: ChargebackStatusProto.ACCEPTED,
})
