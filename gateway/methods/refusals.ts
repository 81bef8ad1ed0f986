import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'

/** The codes of refusals, by their HTTP status. */
export type Refusals = ReadonlyMap<number, readonly ErrorCode[]>

/**
 * The refusals with which a signed path can answer whatever the method is: refusals of the request, the caller, the quotas and
 * faults (A1, E4, E5, E7, E8, E10, E13).
 */
export const COMMON_REFUSALS: Refusals = new Map<number, readonly ErrorCode[]>([
  [
    400,
    [1001, 1003, 1005, 1006, 1007, 2001, 2002, 3000, 3001, 3002, 3003, 3004, 3005, 3006, 3007, 9000] as const,
  ],
  [403, [3008]],
  [404, [1002]],
  [429, [1000, 3009]],
  [503, [2002]],
])

/** The common refusals and the codes of one method, each with its HTTP status in the error table. */
export function withRefusals(codes: readonly ErrorCode[], common: Refusals = COMMON_REFUSALS): Refusals {
  const statuses = new Set([...common.keys(), ...codes.map((code) => ERROR_TABLE[code].http)])
  return new Map(
    [...statuses].sort().map((status) => {
      const own = codes.filter((code) => ERROR_TABLE[code].http === status)
      return [status, [...(common.get(status) ?? []), ...own]]
    }),
  )
}
