import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { ChargebackDebit } from '#gen/multihub/payments/v1/chargeback_debit_pb.ts'
import type { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { SupportDeps } from '../../use-cases/deps.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { type Chargeback, chargebackFromDebit, newChargeback, withStatus } from '../domain/chargeback.ts'

/** What the use cases of chargebacks need. */
export interface ChargebackDeps extends SupportDeps {
  readonly chargebacks: Collection<Chargeback>
  /** Writes chargebacks and runs their effects. */
  readonly runner: EffectRunner<Chargeback>
  readonly payments: Client<typeof PaymentRefundService>
}

/**
 * Stores a chargeback that was debited, with its event. The second report of it changes nothing. A restored support can learn
 * of one that its payment already knows as won.
 */
export async function recordChargeback(
  { runner }: Pick<ChargebackDeps, 'runner'>,
  debit: ChargebackDebit | undefined,
): Promise<Stored<Chargeback>> {
  const opened = newChargeback(chargebackFromDebit(debit))
  const won = { status: 'won', at: now(), note: '' } as const
  const { stored, is_new } = await runner.insertOrGet(debit?.won ? withStatus(opened, won) : opened)
  if (is_new) runner.runEffectsInBackground(stored)
  return stored
}

/** A chargeback that a bank demands. */
export interface OpenChargebackRequest {
  /** Either id of the payment. */
  readonly payment_id: string
  readonly amount: bigint
  /** Empty for the currency of the payment. */
  readonly currency: string
  readonly reason_code: string
  readonly deadline_at: Date | undefined
  readonly operation_id: string
}

/** The keys of the operator belong to no merchant: the request names a payment only. */
const OPERATOR = { merchant_id: 'operator', environment: 'operator' }

const CALL = { timeoutMs: 10_000 }

/**
 * Opens a chargeback: its payment debits the merchant first, also below zero (S10). Once per `operation_id` (O12).
 * Throws 10001 without such a payment, 11002 for one that was not paid by a customer, 6002 for another currency, 11004 when
 * more than its amount was given back, and 1013 for an `operation_id` of another chargeback.
 */
export async function openChargeback(
  deps: ChargebackDeps,
  request: OpenChargebackRequest,
): Promise<Stored<Chargeback>> {
  const { operation_id, deadline_at, ...content } = request
  const mutation = {
    ...OPERATOR,
    key: operation_id,
    payload_hash: payloadHash({ ...content, deadline_at: deadline_at?.toISOString() }),
  }
  let opened: Stored<Chargeback> | undefined
  const chargeback_id = await runMutation(deps.idempotency, 'chargeback.open', mutation, async (id) => {
    opened = await debit(deps, request, id('chargeback'))
    return opened.chargeback_id
  })
  // A repetition asks the payment again, which answers with the chargeback that it has.
  return opened ?? debit(deps, request, chargeback_id)
}

async function debit(
  deps: ChargebackDeps,
  { payment_id: paymentId, amount, currency, reason_code: reasonCode, deadline_at }: OpenChargebackRequest,
  chargebackId: string,
): Promise<Stored<Chargeback>> {
  const debited = await deps.payments.debitChargeback(
    {
      paymentId,
      chargebackId,
      amount: { minor: amount, currency },
      reasonCode,
      deadlineTime: deadline_at && timestampFromDate(deadline_at),
    },
    CALL,
  )
  return recordChargeback(deps, debited.debit)
}
