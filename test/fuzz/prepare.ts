import { resendPath } from '../../gateway/paths.ts'
import { eventually } from '../support/eventually.ts'
import type { Operator } from '../support/operator.ts'
import type { FuzzMerchant } from './merchant.ts'
import { createConnection, type RawResponse } from './raw-http.ts'
import {
  type DepositFields,
  depositBody,
  type FuzzSetup,
  KNOWN_OPERATION,
  notifiedPaymentParams,
  type PreparedPayment,
} from './requests.ts'
import { type FuzzCredential, METHOD_PATHS, type Pair, signatureHeaders } from './signing.ts'

/** Sends a request as a merchant does, on a connection of its own, and answers its `result`; anything else throws. */
export type Sender = (request: SentRequest) => Promise<unknown>

/** What is sent; by the v1 credential to the v1 route unless it says otherwise. */
export interface SentRequest {
  readonly body: object
  readonly credential?: FuzzCredential
  readonly target?: string
  readonly pair?: Pair
}

/** Makes the sender of a merchant's merchant. */
export function createSender({ usable }: FuzzMerchant, port: number): Sender {
  return async ({ body, credential = usable.v1, target = METHOD_PATHS.v1, pair }) => {
    const connection = createConnection(port)
    const bytes = Buffer.from(JSON.stringify(body))
    const proof = signatureHeaders(target, credential, credential.secrets[0] ?? '', bytes, pair)
    const headers = [['Content-Type', 'application/json'] as const, ...proof]
    const answer = await connection.exchange({ verb: 'POST', target, headers, body: bytes })
    connection.close()
    return resultOf(answer)
  }
}

function resultOf({ body }: RawResponse): unknown {
  const envelope = JSON.parse(body.toString())
  if (!envelope.success) throw new Error(`a request of the preparation was refused: ${body}`)
  return envelope.result
}

/**
 * Brings the system to where the fuzzer begins: two deposits that have ended, one of which called back again. They
 * also show that what the fuzzer changes would be taken as it is.
 */
export async function prepare(
  merchant: FuzzMerchant,
  send: Sender,
  operator: Operator,
  callback_url: string,
): Promise<FuzzSetup> {
  const { service_id } = merchant
  const partsOf = (c_id: string): DepositFields => ({ service_id, currency: 'INR', c_id, callback_url })
  const told = await deposit(send, depositBody(partsOf('fuzz-told'), 'full'), 'fuzz-told')
  const quiet = await deposit(send, depositBody(partsOf('fuzz-quiet'), 'least'), 'fuzz-quiet')
  const operation_id = KNOWN_OPERATION
  await send({ body: { method: 'payment.notification', operation_id, params: notifiedPaymentParams(told) } })
  const target = resendPath(told.h_id)
  await send({ body: { payment_id: told.h_id, operation_id }, target })
  // Created, completed, and once more for each of the two ways of asking again.
  await eventually(
    () =>
      operator('multihub.notifier.v1.DeliveryService/ListDeliveries', {
        merchantId: merchant.merchant_id,
        status: 'DELIVERY_STATUS_DELIVERED',
      }),
    (seen) => seen?.deliveries?.length === 4,
  )
  return { ...merchant, notified: told, without_callback: quiet, callback_url }
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
