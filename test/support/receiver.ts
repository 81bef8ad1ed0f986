import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { listen } from '#lib/http/network.ts'
import { eventually } from './eventually.ts'

/** A callback as received. */
export interface ReceivedCallback {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly raw: Buffer
  readonly body: CallbackBody
}

/** The fields of a callback's body that tests check. */
export interface CallbackBody {
  readonly id: string
  readonly merchant_id: string
  readonly data: {
    readonly success: boolean
    readonly next: null
    readonly result: { readonly payment: CallbackPayment }
  }
}

/** The payment of a callback. */
export interface CallbackPayment {
  readonly identifiers: { readonly c_id: string; readonly h_id: string }
  readonly status: { readonly status: string; readonly final: boolean; readonly error: unknown }
  readonly amount: { readonly value: number; readonly currency: string }
}

/** A merchant's receiver on the loopback address. */
export interface Receiver {
  readonly url: string
  readonly callbacks: readonly ReceivedCallback[]
  /** The callbacks about one payment, in the order of arrival. */
  of(c_id: string): readonly ReceivedCallback[]
  /** Waits for the first callback of one payment with this event. */
  waitFor(c_id: string, event: string): Promise<ReceivedCallback>
  stop(): Promise<void>
}

/** A response of a receiver. With the status 0 it never responds. */
export interface ReceiverResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Starts a receiver. It responds with 200, or with what `respond` returns for the n-th callback, counted from 1. */
export async function startReceiver(
  respond: (
    count: number,
    callback: ReceivedCallback,
  ) => ReceiverResponse | Promise<ReceiverResponse> = () => ({
    status: 200,
  }),
): Promise<Receiver> {
  const callbacks: ReceivedCallback[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const headers = request.headers as Record<string, string | undefined>
    const callback: ReceivedCallback = { headers, raw, body: JSON.parse(raw.toString()) }
    callbacks.push(callback)
    const { status, headers: response_headers, body = '' } = await respond(callbacks.length, callback)
    if (status > 0) response.writeHead(status, response_headers).end(body)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  const of: Receiver['of'] = (c_id) =>
    callbacks.filter(({ body }) => body.data.result.payment.identifiers.c_id === c_id)
  return {
    url: `http://${listening.host_and_port}/callbacks`,
    callbacks,
    of,
    waitFor: (c_id, event) =>
      eventually(
        async () => of(c_id).find(({ body }) => body.id.endsWith(`:${event}`)),
        (callback) => callback !== undefined,
      ) as Promise<ReceivedCallback>,
    stop: () => listening.close(0),
  }
}

/** The secret of a payment's `webhook_url`, derived as a merchant derives it (spec: Callback signatures). */
export function callbackSecret(api_secret: string): string {
  return createHmac('sha256', api_secret).update('service:merchant-webhook-signing:v1').digest('hex')
}

/** The V3 signature of a callback, as a merchant computes it. */
export function signatureV3(secret: string, { headers, raw }: ReceivedCallback): string {
  const { 'x-webhook-timestamp': timestamp, 'x-webhook-nonce': nonce, 'x-webhook-id': id } = headers
  return createHmac('sha512', secret).update(`${timestamp}.${nonce}.${id}.`).update(raw).digest('hex')
}
