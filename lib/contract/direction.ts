import { Direction as DirectionProto } from '#gen/multihub/merchants/v1/route_pb.ts'
import { createEnumMap } from './proto-fields.ts'

/** The direction of a payment: `in` is a deposit, `out` a withdrawal. */
export type Direction = 'in' | 'out'

/** The directions in RPCs. */
export const DIRECTIONS = createEnumMap<Direction, DirectionProto>({
  in: DirectionProto.IN,
  out: DirectionProto.OUT,
})
