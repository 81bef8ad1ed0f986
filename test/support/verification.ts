import { eventually } from './eventually.ts'
import type { Operator } from './operator.ts'

/**
 * Verifies the ledger of a system from its first batch, as the operator does, and returns the finished verification. Its
 * `consistent` is absent, as in any JSON of a proto, when it is false.
 */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
export async function verifyLedgerOf(operator: Operator): Promise<any> {
  const service = 'multihub.balances.v1.VerificationService'
  await operator(`${service}/StartVerification`, { fromFirstBatch: true })
  const { verification } = await eventually(
    () => operator(`${service}/GetVerification`, {}),
    (response) => response?.verification?.endTime !== undefined,
  )
  return verification
}
