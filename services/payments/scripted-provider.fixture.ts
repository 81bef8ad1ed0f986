import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { now } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import { eventually } from '../../test/support/eventually.ts'

/** An order that this provider received. */
export interface ReceivedOrder {
  readonly kind: 'deposit' | 'withdrawal'
  readonly idempotency_key: string
  readonly amount: number
  readonly currency: string
  readonly callback_url: string
}

/** Changes of a report or of the request that carries it. */
export interface ReportChanges {
  readonly status?: string
  readonly amount?: number
  readonly idempotency_key?: string
  readonly provider_id?: string
  /** The account that signs the request; `acme` unless given. */
  readonly account_id?: string
  readonly key?: string
  readonly url?: string
}

/** A provider whose responses and callbacks a test decides. */
export interface TestProvider {
  readonly url: string
  readonly key: string
  /** Leaves all following requests without a response. */
  stopAnswering(): void
  /** Answers the waiting requests and all following ones with an operation in this status. */
  answer(status: string): void
  /** Refuses the waiting requests and all following ones. */
  refuse(): void
  /** Answers all following lookups as if it had no operation. */
  forget(): void
  /** Resolves with the last order when at least `count` have come. */
  order(count: number): Promise<ReceivedOrder>
  /** The number of orders so far. */
  orders(): number
  /** Resolves when the operation has been looked up, or looked up so often. */
  polled(order: Pick<ReceivedOrder, 'idempotency_key'>, times?: number): Promise<unknown>
  /** Sends a signed callback, and resolves with the HTTP status of the response. */
  report(order: ReceivedOrder, changes?: ReportChanges): Promise<number>
  stop(): Promise<void>
}

/** What this provider answers instead of a status when it refuses. */
const REFUSED = 'refused'

/** Starts the provider. */
export async function startProvider(): Promise<TestProvider> {
  const key = randomHex(32)
  const orders: ReceivedOrder[] = []
  const waiting: { readonly order: ReceivedOrder; readonly response: ServerResponse }[] = []
  const polls: (string | undefined)[] = []
  let status: string | undefined
  let has_forgotten = false

  const respond = (order: ReceivedOrder, response: ServerResponse, reported_status: string): void => {
    const is_refused = reported_status === REFUSED
    const report = { accepted: true, ...reportOf(order, { status: reported_status }) }
    const body = JSON.stringify(is_refused ? { accepted: false, code: 7001 } : report)
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const answer = (reported_status: string): void => {
    status = reported_status
    has_forgotten = false
    for (const { order, response } of waiting.splice(0)) respond(order, response, reported_status)
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const path_key = request.url?.split('/').at(-1)
    if (request.method === 'GET') polls.push(path_key)
    if (request.method === 'POST') orders.push(JSON.parse(Buffer.concat(chunks).toString()))
    const order =
      request.method === 'POST' ? orders.at(-1) : orders.find((one) => one.idempotency_key === path_key)
    if (!order || (request.method === 'GET' && has_forgotten))
      return void response.writeHead(404).end('{"accepted":false,"code":6010}')
    if (status === undefined) waiting.push({ order, response })
    else respond(order, response, status)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${listening.host_and_port}`,
    key,
    stopAnswering() {
      status = undefined
    },
    async order(count) {
      await eventually(
        async () => orders.length,
        (length = 0) => length >= count,
      )
      const order = orders.at(-1)
      if (!order) throw new Error('the provider received no order')
      return order
    },
    orders: () => orders.length,
    polled: ({ idempotency_key }, times = 1) =>
      eventually(async () => polls.filter((key) => key === idempotency_key).length >= times, Boolean),
    answer,
    refuse: () => answer(REFUSED),
    forget() {
      has_forgotten = true
    },
    report(order, changes = {}) {
      const { account_id = 'acme', url = order.callback_url } = changes
      const body = Buffer.from(JSON.stringify(reportOf(order, changes)))
      const { pathname: path } = new URL(url)
      const signed = { account_id, method: 'POST', path, body }
      return post(url, signRequest(new Secret(changes.key ?? key), signed), body)
    },
    stop: () => listening.close(0),
  }
}

function reportOf(order: ReceivedOrder, changes: ReportChanges): object {
  const { status = 'success', amount = order.amount } = changes
  return {
    kind: order.kind,
    idempotency_key: changes.idempotency_key ?? order.idempotency_key,
    provider_id: changes.provider_id ?? 'acme-1',
    status,
    amount,
    currency: order.currency,
    ...(status === 'success' ? { completed_at: now().toISOString() } : {}),
  }
}

/** Posts bytes, and resolves with the HTTP status of the response. */
export function post(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
