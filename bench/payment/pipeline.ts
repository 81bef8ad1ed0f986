import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { createLifecycle } from '../../app/lifecycle.ts'
import { startRoles } from '../../app/roles.ts'

const REQUEST_ID = '019aa5b0-7c00-7000-8000-000000000000'
const OPERATIONS_PATH = '/provider/v1/operations'

/** The payment in the request of the load client. */
export type RequestedPayment = RequestedDeposit | RequestedWithdrawal

interface RequestedFields {
  readonly identifiers: { readonly c_id: string }
  readonly amount: { readonly value: number; readonly currency: string }
  readonly description: string
}

/** The deposit in a request. */
export interface RequestedDeposit extends RequestedFields {
  readonly payer: {
    readonly email: string
    readonly phone: string
    readonly person: { readonly first_name: string; readonly last_name: string }
  }
}

/** The withdrawal in a request. */
interface RequestedWithdrawal extends RequestedFields {
  readonly receiver: { readonly bank: { readonly account: { readonly id: string } } }
}

/** The response or callback of the provider. */
export interface ProviderReport {
  readonly status: string
  readonly amount: number
}

/** How a pipeline stores payments. Each promise resolves when the data are on disk. `S` is a stored payment. */
export interface PaymentStorage<S> {
  /** Stores the new payment, before the provider is called. */
  insertPayment(payment: RequestedPayment): Promise<S>
  /** Stores the response of the provider. */
  storeResponse(stored: S, payment: RequestedPayment, report: ProviderReport): Promise<unknown>
  /** Stores the callback, after which the provider gets its response. Calls `credited` after the ledger write. */
  storeCallback(c_id: string, report: ProviderReport, credited: () => void): Promise<void>
}

/**
 * Serves the visible input and output of `payment.in` and `payment.out` without logic: check the hash, parse, store, call
 * the provider, store, respond; callbacks of the provider are stored too. Uses the sandbox at MULTIHUB_SANDBOX_URL, or
 * starts one in this process. Sends its port to the parent process, and on each message the number of credited payments.
 */
export async function servePipeline<S>(storage: PaymentStorage<S>): Promise<void> {
  const { BENCH_SECRET = '', MULTIHUB_SANDBOX_URL, MULTIHUB_SANDBOX_KEY = '' } = process.env
  const secret = Buffer.from(BENCH_SECRET)
  const key = new Secret(MULTIHUB_SANDBOX_KEY)
  const provider = new Pool(MULTIHUB_SANDBOX_URL ?? (await startSandbox()), {
    connections: 256,
    pipelining: 1,
  })
  let credited = 0

  const hashOf = (bytes: Buffer): string => hash('sha512', Buffer.concat([bytes, secret]), 'hex')

  async function createPayment(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    if (hashOf(body) !== request.headers['x-data-hash']) return void response.writeHead(400).end()
    const requested: RequestedPayment = JSON.parse(body.toString()).params.payment
    const stored = await storage.insertPayment(requested)
    const report = await callProvider(provider, key, requested, callbackUrlOf(requested))
    await storage.storeResponse(stored, requested, report)
    const payment = { ...requested, status: 'processing', report }
    const result = { payment, operation: { id: REQUEST_ID, amount: requested.amount } }
    const envelope = { success: true, result, request_id: REQUEST_ID, processing_time: 0.125 }
    const text = Buffer.from(JSON.stringify(envelope))
    response
      .writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': text.length,
        'cache-control': 'no-store',
        'x-request-id': REQUEST_ID,
        'x-data-hash': hashOf(text),
      })
      .end(text)
  }

  async function receiveCallback(path: string, body: Buffer, response: ServerResponse): Promise<void> {
    const report: ProviderReport = JSON.parse(body.toString())
    await storage.storeCallback(path.slice('/callbacks/'.length), report, () => {
      credited += 1
    })
    response.writeHead(200, { 'content-length': 0 }).end()
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const handled = request.url?.startsWith('/callbacks/')
        ? receiveCallback(request.url, body, response)
        : createPayment(request, body, response)
      handled.catch(() => response.writeHead(500).end())
    })
  })
  function callbackUrlOf({ identifiers }: RequestedPayment): string {
    return `http://127.0.0.1:${portOf()}/callbacks/${identifiers.c_id}`
  }
  function portOf(): number {
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }
  server.listen({ port: 0, host: '127.0.0.1' }, () => process.send?.(portOf()))
  process.on('message', () => process.send?.(credited))
}

/** Sends the payment to the provider, and returns its response. */
async function callProvider(
  provider: Pool,
  key: Secret,
  payment: RequestedPayment,
  callback_url: string,
): Promise<ProviderReport> {
  const { identifiers, amount } = payment
  const operation = JSON.stringify({
    ...('payer' in payment
      ? { kind: 'deposit', expires_at: '2099-01-01T00:00:00.000Z', payer: { email: payment.payer.email } }
      : { kind: 'withdrawal', beneficiary: { account_id: payment.receiver.bank.account.id } }),
    idempotency_key: `${identifiers.c_id}:1`,
    amount: amount.value,
    currency: amount.currency,
    method: 'upi',
    callback_url,
  })
  const signed = { account_id: 'bench', method: 'POST', path: OPERATIONS_PATH, body: Buffer.from(operation) }
  const response = await provider.request({
    method: 'POST',
    path: OPERATIONS_PATH,
    headers: { 'content-type': 'application/json', ...signRequest(key, signed) },
    body: operation,
  })
  return (await response.body.json()) as ProviderReport
}

/** Starts the sandbox in this process, as in the system when it is one process, and returns its address. */
async function startSandbox(): Promise<string> {
  const { urls } = await startRoles(['sandbox'], process.env, createLifecycle(), { schema: 'create' })
  return urls['sandbox_url'] ?? ''
}
