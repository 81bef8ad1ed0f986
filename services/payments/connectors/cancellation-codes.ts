import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { OperationKind } from '../domain/call-result.ts'

/** The codes of a cancellation without a reason: customers cancel deposits, providers cancel everything else. */
export const CANCELLATION_CODES: Readonly<Record<OperationKind, ErrorCode>> = {
  deposit: 6012,
  withdrawal: 6034,
  refund: 6034,
}
