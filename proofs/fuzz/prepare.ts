import { resendPath } from '../../gateway/paths.ts'
import { eventually } from '../../test/support/eventually.ts'
import type { Operator } from '../../test/support/operator.ts'
import type { FuzzMerchant } from './merchant.ts'
import { createConnection, type RawResponse } from './raw-http.ts'
import {
  type DepositFields,
  depositBody,
  type FuzzSetup,
  notifiedPaymentParams,
  type PreparedPayment,
  REPEATED_OPERATION,
} from './requests.ts'
import { type FuzzCredential, METHOD_PATHS, type ReplayPair, signatureHeaders } from './signing.ts'

/** Sends a request on a new connection and returns its `result`. Throws when it is refused. */
export type Sender = (request: SentRequest) => Promise<unknown>

/** A request, by default of the v1 credential to the v1 path. */
export interface SentRequest {
  readonly body: object
  readonly credential?: FuzzCredential
  readonly target?: string
  readonly pair?: ReplayPair
}

/** Makes the sender of the merchant. */
export function createSender({ usable }: FuzzMerchant, port: number): Sender {
  return async ({ body, credential = usable.v1, target = METHOD_PATHS.v1, pair }) => {
    const connection = createConnection(port)
    const bytes = Buffer.from(JSON.stringify(body))
    const proof = signatureHeaders(target, credential, credential.secrets[0] ?? '', bytes, pair)
    const headers = [['Content-Type', 'application/json'] as const, ...proof]
    const response = await connection.exchange({ verb: 'POST', target, headers, body: bytes })
    connection.close()
    return resultOf(response)
  }
}

function resultOf({ body }: RawResponse): unknown {
  const envelope = JSON.parse(body.toString())
  if (!envelope.success) throw new Error(`a request of the preparation was refused: ${body}`)
  return envelope.result
}

/**
 * Prepares the system: two final deposits; one was called back again. They also prove that the requests are
 * accepted as long as the fuzzer does not change them.
 */
export async function prepare(
  merchant: FuzzMerchant,
  send: Sender,
  operator: Operator,
  callback_url: string,
): Promise<FuzzSetup> {
  const { service_id } = merchant
  const partsOf = (c_id: string): DepositFields => ({ service_id, currency: 'INR', c_id, callback_url })
  const notified = await deposit(send, depositBody(partsOf('fuzz-notified'), 'full'), 'fuzz-notified')
  const without_callback = await deposit(
    send,
    depositBody(partsOf('fuzz-without-callback'), 'required'),
    'fuzz-without-callback',
  )
  const operation_id = REPEATED_OPERATION
  await send({
    body: { method: 'payment.notification', operation_id, params: notifiedPaymentParams(notified) },
  })
  const target = resendPath(notified.h_id)
  await send({ body: { payment_id: notified.h_id, operation_id }, target })
  // Created, completed, and one more for each of the two ways to request a callback again.
  await eventually(
    () =>
      operator('multihub.notifier.v1.DeliveryService/ListDeliveries', {
        merchantId: merchant.merchant_id,
        status: 'DELIVERY_STATUS_DELIVERED',
      }),
    (seen) => seen?.deliveries?.length === 4,
  )
  return { ...merchant, notified, without_callback, callback_url }
}

interface PaymentResult {
  readonly payment: { readonly identifiers: PreparedPayment; readonly status: { readonly final: boolean } }
}

async function deposit(send: Sender, body: object, c_id: string): Promise<PreparedPayment> {
  await send({ body })
  const status = { method: 'payment.status', params: { payment: { identifiers: { c_id } } } }
  const ended = await eventually(
    async () => (await send({ body: status })) as PaymentResult,
    (seen) => seen?.payment.status.final === true,
  )
  return { c_id, h_id: ended.payment.identifiers.h_id }
}
