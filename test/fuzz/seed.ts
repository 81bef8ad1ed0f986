import { resendPath } from '../../gateway/paths.ts'
import { eventually } from '../support/eventually.ts'
import type { Operator } from '../support/operator.ts'
import { type FuzzCredential, METHOD_PATHS, type Pair, proofHeaders } from './proof.ts'
import type { Registry } from './registry.ts'
import {
  type DepositParts,
  depositBody,
  KNOWN_OPERATION,
  type Known,
  type KnownPayment,
  namesTold,
} from './requests.ts'
import { createConnection, type RawAnswer } from './wire.ts'

/** Sends a request as a merchant does, on a connection of its own, and answers its `result`; anything else throws. */
export type Sender = (request: SentRequest) => Promise<unknown>

/** What is sent; by the v1 credential to the v1 route unless it says otherwise. */
export interface SentRequest {
  readonly body: object
  readonly credential?: FuzzCredential
  readonly target?: string
  readonly pair?: Pair
}

/** Makes the sender of a registry's merchant. */
export function createSender({ usable }: Registry, port: number): Sender {
  return async ({ body, credential = usable.v1, target = METHOD_PATHS.v1, pair }) => {
    const connection = createConnection(port)
    const bytes = Buffer.from(JSON.stringify(body))
    const proof = proofHeaders(target, credential, credential.secrets[0] ?? '', bytes, pair)
    const headers = [['Content-Type', 'application/json'] as const, ...proof]
    const answer = await connection.exchange({ verb: 'POST', target, headers, body: bytes })
    connection.close()
    return resultOf(answer)
  }
}

function resultOf({ body }: RawAnswer): unknown {
  const envelope = JSON.parse(body.toString())
  if (!envelope.success) throw new Error(`a request of the preparation was refused: ${body}`)
  return envelope.result
}

/**
 * Brings the system to where the fuzzer begins: two deposits that have ended, one of which called back again. They
 * also show that what the fuzzer changes would be taken as it is.
 */
export async function prepare(
  registry: Registry,
  send: Sender,
  operator: Operator,
  callback_url: string,
): Promise<Known> {
  const { service_id } = registry
  const partsOf = (c_id: string): DepositParts => ({ service_id, currency: 'INR', c_id, callback_url })
  const told = await deposit(send, depositBody(partsOf('fuzz-told'), 'full'), 'fuzz-told')
  const quiet = await deposit(send, depositBody(partsOf('fuzz-quiet'), 'least'), 'fuzz-quiet')
  const operation_id = KNOWN_OPERATION
  await send({ body: { method: 'payment.notification', operation_id, params: namesTold(told) } })
  const target = resendPath(told.h_id)
  await send({ body: { payment_id: told.h_id, operation_id }, target })
  // Created, completed, and once more for each of the two ways of asking again.
  await eventually(
    () =>
      operator('multihub.notifier.v1.DeliveryService/ListDeliveries', {
        merchantId: registry.merchant_id,
        status: 'DELIVERY_STATUS_DELIVERED',
      }),
    (seen) => seen?.deliveries?.length === 4,
  )
  return { ...registry, told, quiet, callback_url }
}

interface PaymentResult {
  readonly payment: { readonly identifiers: KnownPayment; readonly status: { readonly final: boolean } }
}

async function deposit(send: Sender, body: object, c_id: string): Promise<KnownPayment> {
  await send({ body })
  const status = { method: 'payment.status', params: { payment: { identifiers: { c_id } } } }
  const ended = await eventually(
    async () => (await send({ body: status })) as PaymentResult,
    (seen) => seen?.payment.status.final === true,
  )
  return { c_id, h_id: ended.payment.identifiers.h_id }
}
