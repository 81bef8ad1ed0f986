import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import type { ProviderOperation } from '../../simulation/world/provider/operation.ts'

/** The most attempts of a payment: one for each provider account of its route. */
const ATTEMPTS_MAX = 2

const ACCOUNT = 'sandbox'
const OPERATIONS_PATH = '/provider/v1/operations'

/** Reads what the sandbox itself has recorded for a payment, under the keys of its attempts and of its refunds. */
export async function sandboxOperationsOf(
  sandbox_url: string,
  sandbox_key: string,
  { paymentId: payment_id, status }: Payment,
  refunds: readonly Refund[],
): Promise<readonly ProviderOperation[]> {
  const operations: ProviderOperation[] = []
  const attempts = Array.from({ length: ATTEMPTS_MAX }, (_, index) => `${payment_id}:${index + 1}`)
  for (const key of [...attempts, ...refunds.map(({ refundId }) => `${payment_id}:refund:${refundId}`)]) {
    const path = `${OPERATIONS_PATH}/${key}`
    const request = { account_id: ACCOUNT, method: 'GET', path, body: Buffer.alloc(0) }
    const response = await fetch(sandbox_url + path, {
      headers: signRequest(new Secret(sandbox_key), request),
    })
    if (response.status === 404) continue
    if (!response.ok) throw new Error(`the sandbox answered a lookup with ${response.status}`)
    const report = (await response.json()) as Omit<ProviderOperation, 'account_id'>
    operations.push({
      account_id: ACCOUNT,
      ...report,
      // Reports are repeated until they are acknowledged, but a payment can expire before that.
      is_success_acknowledged: status !== PaymentStatus.DECLINED,
    })
  }
  return operations
}
