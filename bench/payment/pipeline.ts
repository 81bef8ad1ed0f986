import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { signRequest } from '#lib/platform/crypto/signed-request.ts'
import { createLifecycle } from '#lib/platform/process/lifecycle.ts'
import { startRoles } from '../../roles.ts'

const REQUEST_ID = '019aa5b0-7c00-7000-8000-000000000000'
const OPERATIONS_PATH = '/provider/v1/operations'

/** What the load client asks for. */
export interface Asked {
  readonly identifiers: { readonly c_id: string }
  readonly amount: { readonly value: number; readonly currency: string }
  readonly payer: {
    readonly email: string
    readonly phone: string
    readonly person: { readonly first_name: string; readonly last_name: string }
  }
  readonly description: string
}

/** What the provider says of it. */
export interface Report {
  readonly status: string
  readonly amount: number
}

/** How a pipeline keeps payments; each promise is of what is on disk. `K` is what it has in hand of one. */
export interface Keeping<K> {
  created(asked: Asked): Promise<K>
  answered(kept: K, asked: Asked, report: Report): Promise<unknown>
  /** Calls `credited` when the ledger has it; resolves earlier, when the provider may be told so. */
  paid(c_id: string, report: Report, credited: () => void): Promise<void>
}

/**
 * Serves the visible input and output of `payment.in` and nothing else: check the hash, parse, keep, ask the provider,
 * keep, answer; a callback of the provider is kept too. The sandbox is at MULTIHUB_SANDBOX_URL, or in this process when
 * that is not set. Says its port to the parent, and when asked how many payments are credited.
 */
export async function servePipeline<K>(keeping: Keeping<K>): Promise<void> {
  const { BENCH_SECRET = '', MULTIHUB_SANDBOX_URL, MULTIHUB_SANDBOX_KEY = '' } = process.env
  const secret = Buffer.from(BENCH_SECRET)
  const key = new Secret(MULTIHUB_SANDBOX_KEY)
  const provider = new Pool(MULTIHUB_SANDBOX_URL ?? (await startSandbox()), {
    connections: 256,
    pipelining: 1,
  })
  let credited = 0

  const hashOf = (bytes: Buffer): string => hash('sha512', Buffer.concat([bytes, secret]), 'hex')

  async function ask(asked: Asked): Promise<Report> {
    const { c_id } = asked.identifiers
    const order = JSON.stringify({
      kind: 'deposit',
      idempotency_key: `${c_id}:1`,
      amount: asked.amount.value,
      currency: asked.amount.currency,
      method: 'upi',
      callback_url: `http://127.0.0.1:${portOf()}/callbacks/${c_id}`,
      expires_at: '2099-01-01T00:00:00.000Z',
      payer: { email: asked.payer.email },
    })
    const signed = { account_id: 'bench', method: 'POST', path: OPERATIONS_PATH, body: Buffer.from(order) }
    const answer = await provider.request({
      method: 'POST',
      path: OPERATIONS_PATH,
      headers: { 'content-type': 'application/json', ...signRequest(key, signed) },
      body: order,
    })
    return (await answer.body.json()) as Report
  }

  async function createPayment(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    if (hashOf(body) !== request.headers['x-data-hash']) return void response.writeHead(400).end()
    const asked: Asked = JSON.parse(body.toString()).params.payment
    const kept = await keeping.created(asked)
    const report = await ask(asked)
    await keeping.answered(kept, asked, report)
    const payment = { ...asked, state: 'processing', report }
    const result = { payment, operation: { id: REQUEST_ID, amount: asked.amount } }
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

  async function complete(path: string, body: Buffer, response: ServerResponse): Promise<void> {
    const report: Report = JSON.parse(body.toString())
    await keeping.paid(path.slice('/callbacks/'.length), report, () => {
      credited += 1
    })
    response.writeHead(200, { 'content-length': 0 }).end()
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const answered = request.url?.startsWith('/callbacks/')
        ? complete(request.url, body, response)
        : createPayment(request, body, response)
      answered.catch(() => response.writeHead(500).end())
    })
  })
  function portOf(): number {
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }
  server.listen({ port: 0, host: '127.0.0.1' }, () => process.send?.(portOf()))
  process.on('message', () => process.send?.(credited))
}

/** The sandbox in this very process, as the whole system has it when it is one process. */
async function startSandbox(): Promise<string> {
  const { urls } = await startRoles(['sandbox'], process.env, createLifecycle())
  return urls['sandbox_url'] ?? ''
}
