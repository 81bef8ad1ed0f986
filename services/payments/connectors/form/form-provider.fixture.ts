import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { clock, now } from '#lib/base/time.ts'
import { formatDecimal, parseDecimal } from '#lib/contract/decimal-amount.ts'
import { listen } from '#lib/http/network.ts'

/** A small provider of the kind that the form connector is for. The last digits of an amount decide, as in the sandbox. */
export interface FormProvider {
  readonly url: string
  readonly token: string
  readonly merchant_code: string
  /** How many transfers it has made: one per create, because it knows no idempotency keys. */
  transfers(): number
  /** How many lookups it has received. */
  lookups(): number
  /** Settles the transfers that it has held. */
  settleHeld(): void
  stop(): Promise<void>
}

interface Transfer {
  readonly id: string
  readonly reference: string
  readonly type: string
  readonly amount: string
  readonly currency: string
  readonly state: string
  readonly reason?: string
  readonly settled_at?: string
  readonly bank_reference?: string
  readonly pay_by?: object
}

/** What happens to a transfer, and how its create is answered. */
interface Scenario {
  readonly state: string
  readonly reason?: string
  /** Whether the response to the create has the final state already. */
  readonly is_at_once?: true
  readonly response?: 'silence' | 'reset' | 'fault' | 'other_json'
}

const SUCCEEDS: Scenario = { state: 'SETTLED' }
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  901: { state: 'FAILED', reason: 'LIMIT_OF_PAYER', is_at_once: true },
  902: { state: 'FAILED', reason: 'LIMIT_OF_PAYER' },
  903: { ...SUCCEEDS, response: 'silence' },
  904: { ...SUCCEEDS, response: 'reset' },
  905: { state: 'ON_HOLD' },
  906: { state: 'VOIDED' },
  908: { ...SUCCEEDS, is_at_once: true },
  913: { ...SUCCEEDS, response: 'fault' },
  915: { ...SUCCEEDS, response: 'other_json' },
}
const REFUSED_DIGITS = '907'
const SILENCE_MS = 20

const TYPES: Readonly<Record<string, string>> = {
  '/api/v1/collections': 'collection',
  '/api/v1/payouts': 'payout',
  '/api/v1/reversals': 'reversal',
}

/** Starts the provider on a free port. */
export async function startFormProvider(): Promise<FormProvider> {
  const token = 'a-bearer-token-0123456789'
  const merchant_code = 'SHOP-1'
  const transfers: Transfer[] = []
  let lookups = 0

  function create(type: string, form: URLSearchParams, response: ServerResponse): void {
    const read = (name: string): string => form.get(name) ?? ''
    const amount = parseDecimal(read('amount'), read('currency'))
    if (amount === undefined || formatDecimal(amount) !== read('amount'))
      return void respond(response, 422, { error: 'AMOUNT_INVALID' })
    if (read('merchant_code') !== merchant_code)
      return void respond(response, 422, { error: 'MERCHANT_UNKNOWN' })
    const collection = transfers.find(({ reference }) => reference === read('collection'))
    const digits = digitsOf(collection?.amount ?? read('amount'))
    if (digits === REFUSED_DIGITS) return void respond(response, 500, { error: 'LIMIT_OF_PROVIDER' })
    const number = transfers.length + 1
    const created: Transfer = {
      id: `t-${number}`,
      reference: read('reference'),
      type,
      amount: read('amount'),
      currency: read('currency'),
      state: 'PROCESSING',
      ...(type === 'payout' ? { bank_reference: `b${number}` } : {}),
      ...(type === 'collection' ? { pay_by: payBy(read('channel')) } : {}),
    }
    const scenario = SCENARIOS[digits] ?? SUCCEEDS
    const completed = complete(created, scenario)
    transfers.push(completed)
    respondAs(scenario, response, scenario.is_at_once ? completed : created)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== `Bearer ${token}`)
      return void respond(response, 401, { error: 'TOKEN_INVALID' })
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
    if (request.method === 'GET') {
      lookups += 1
      const references = searchParams.getAll('reference')
      const found = transfers.filter(({ reference }) => references.includes(reference))
      return void respond(response, 200, { transfers: found.toReversed() })
    }
    const type = TYPES[pathname]
    if (type === undefined || request.headers['content-type'] !== 'application/x-www-form-urlencoded')
      return void respond(response, 404, { error: 'NOT_A_FORM' })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    create(type, new URLSearchParams(Buffer.concat(chunks).toString()), response)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  const { host_and_port, close } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${host_and_port}/api`,
    token,
    merchant_code,
    transfers: () => transfers.length,
    lookups: () => lookups,
    settleHeld() {
      const settled = transfers.map((each) => (each.state === 'ON_HOLD' ? complete(each, SUCCEEDS) : each))
      transfers.splice(0, transfers.length, ...settled)
    },
    stop: () => close(0),
  }
}

/** The last three digits in minor units. */
function digitsOf(amount: string): string {
  return amount.replace('.', '').slice(-3)
}

function complete(transfer: Transfer, { state, reason }: Scenario): Transfer {
  const { pay_by, ...final } = transfer
  if (state === 'ON_HOLD') return { ...transfer, state }
  const settled_at = state === 'SETTLED' ? { settled_at: now().toISOString() } : {}
  return { ...final, state, ...settled_at, ...(reason === undefined ? {} : { reason }) }
}

function respondAs({ response: kind }: Scenario, response: ServerResponse, transfer: Transfer): void {
  switch (kind) {
    case 'silence':
      // The provider ends its silence itself, so that no test depends on a time limit.
      clock.after(SILENCE_MS, () => response.destroy())
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'fault':
      response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>fault</h1>')
      return
    case 'other_json':
      return void respond(response, 200, { ok: true })
    default:
      return void respond(response, 201, { transfer })
  }
}

function respond(response: ServerResponse, http_status: number, body: object): void {
  response.writeHead(http_status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function payBy(channel: string): object {
  const bank = {
    bank_account: { id: '000123456789', name: 'Form Provider' },
    bank: { name: 'Form Bank', code: 'FORM0000001' },
    phone: '+99900000018',
    document: { type: 'FORM', number: '00000018' },
  }
  const page = { payment_url: 'https://pay.example/t' }
  if (channel === 'UPI') return { deep_links: ['upi://pay?tr=1'], qr_payload: 'upi://pay?tr=1' }
  if (channel === 'BANK') return { ...bank, ...page }
  return channel === 'IMPS' || channel === 'EFT' ? bank : page
}
