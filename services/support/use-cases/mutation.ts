import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { MethodName } from '#lib/contract/methods.ts'
import type { Idempotency, IdempotencyKey, SeededId } from '#lib/patterns/idempotency/idempotency.ts'

/** A merchant's mutation under its key. */
export interface Mutation extends MerchantScope {
  /** The idempotency key: a `c_id` or an `operation_id`. */
  readonly key: string
  /** The hash of the request without its key. */
  readonly payload_hash: string
}

/**
 * Runs a mutation once per key, in the test environment for a time (O25), and returns the id that `work` returned (S3). The record
 * holds that id and no copy of the document, so that a repetition can show the document as it is by then. Throws 1013 for another
 * payload.
 */
export async function runMutation(
  idempotency: Idempotency,
  method: MethodName | 'chargeback.open' | 'refund answer' | 'ticket answer',
  {
    merchant_id,
    environment,
    key,
    payload_hash,
  }: Omit<IdempotencyKey, 'method'> & Pick<Mutation, 'payload_hash'>,
  work: (id: SeededId) => Promise<string>,
): Promise<string> {
  const result = await idempotency.run({ merchant_id, environment, method, key }, payload_hash, async (id) =>
    Buffer.from(await work(id)),
  )
  return Buffer.from(result).toString()
}
