import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { open } from 'lmdb'
import { Pool } from 'undici'
import { Secret } from '#lib/crypto/secret.ts'
import { signRequest } from '#lib/crypto/signed-request.ts'
import { createLifecycle } from '#lib/process/lifecycle.ts'
import { startRoles } from '../../roles.ts'

const REQUEST_ID = '019aa5b0-7c00-7000-8000-000000000000'
const OPERATIONS_PATH = '/provider/v1/operations'
/** As large as the payment is in our own store. */
const DOCUMENT_BYTES = 1_900
const ENTRY_BYTES = 300

const {
  BENCH_SECRET: secret = '',
  BENCH_DIRECTORY: directory = '',
  MULTIHUB_SANDBOX_URL: given_sandbox_url,
  MULTIHUB_SANDBOX_KEY: sandbox_key = '',
} = process.env
const key = new Secret(sandbox_key)
const secret_bytes = Buffer.from(secret)
const sandbox_url = given_sandbox_url ?? (await startSandbox())
const provider = new Pool(sandbox_url, { connections: 256, pipelining: 1 })
const payments = openTable('payments')
const ledger = openTable('ledger')
let completed = 0

/**
 * The least that does the same input and output as `payment.in`, without any of its logic: check the hash, parse,
 * write, ask the provider, write, answer; for a provider's callback, write the payment and a ledger entry. The sandbox
 * is at MULTIHUB_SANDBOX_URL, or in this process when that is not set.
 */
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
server.listen({ port: 0, host: '127.0.0.1' }, () => process.send?.(portOf()))
process.on('message', () => process.send?.(completed))

/** The sandbox in this very process, as the whole system has it when it is one process. */
async function startSandbox(): Promise<string> {
  const { urls } = await startRoles(['sandbox'], process.env, createLifecycle())
  return urls['sandbox_url'] ?? ''
}

function portOf(): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

function openTable(name: string) {
  return open<Buffer, string>({ path: join(directory, name), encoding: 'binary', overlappingSync: false })
}

async function createPayment(
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  if (hashOf(body) !== request.headers['x-data-hash']) return void response.writeHead(400).end()
  const { payment } = JSON.parse(body.toString()).params
  const { c_id } = payment.identifiers
  await payments.put(c_id, documentOf(payment, DOCUMENT_BYTES))
  const order = JSON.stringify({
    kind: 'deposit',
    idempotency_key: `${c_id}:1`,
    amount: payment.amount.value,
    currency: payment.amount.currency,
    method: 'upi',
    callback_url: `http://127.0.0.1:${portOf()}/callbacks/${c_id}`,
    expires_at: '2099-01-01T00:00:00.000Z',
    payer: { email: payment.payer.email },
  })
  const answer = await provider.request({
    method: 'POST',
    path: OPERATIONS_PATH,
    headers: { 'content-type': 'application/json', ...signatureOf(order) },
    body: order,
  })
  const report = await answer.body.json()
  const asked = { ...payment, state: 'processing', report }
  await payments.put(c_id, documentOf(asked, DOCUMENT_BYTES))
  const result = { payment: asked, operation: { id: REQUEST_ID, amount: payment.amount } }
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
  const c_id = path.slice('/callbacks/'.length)
  const report = JSON.parse(body.toString())
  const stored = payments.get(c_id)
  if (stored === undefined) return void response.writeHead(404).end()
  const payment = JSON.parse(stored.toString())
  await payments.put(c_id, documentOf({ ...payment, state: 'success', report }, DOCUMENT_BYTES))
  await ledger.put(c_id, documentOf({ c_id, amount: report.amount, credit: 'available' }, ENTRY_BYTES))
  completed += 1
  response.writeHead(200, { 'content-length': 0 }).end()
}

function hashOf(bytes: Buffer): string {
  return hash('sha512', Buffer.concat([bytes, secret_bytes]), 'hex')
}

function signatureOf(body: string): Record<string, string> {
  const account_id = 'bench'
  return signRequest(key, { account_id, method: 'POST', path: OPERATIONS_PATH, body: Buffer.from(body) })
}

function documentOf(content: object, size: number): Buffer {
  return Buffer.from(JSON.stringify(content).padEnd(size))
}
