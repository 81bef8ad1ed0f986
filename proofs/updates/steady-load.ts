import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { sleep } from '#lib/base/time.ts'
import type { StormPayment } from '../../test/e2e/crash.suite.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type Demo, type MerchantClient, merchantClient } from '../../test/support/merchant.ts'
import type { PublicResponse } from '../../test/support/public-client.ts'

/** Requests that go on until they are stopped, from clients with one keep-alive connection each. */
export interface SteadyLoad {
  /** By `c_id`, with the response if there was one. */
  readonly payments: ReadonlyMap<string, StormPayment>
  /** The `c_id` of each refund that was accepted. */
  readonly refunds: readonly string[]
  /** A sentence for each request that failed: no response, or a response that is not a success. */
  readonly failures: readonly string[]
  /** The number of successful requests, by what was done. */
  counts(): Readonly<Record<ActName, number>>
  /** Resolves when each act has succeeded several times more. Throws when a request has failed. */
  untilMoreRequests(): Promise<void>
  /** Resolves when all clients have stopped. */
  stop(): Promise<void>
}

/** What clients do. */
type ActName = 'deposit' | 'withdraw' | 'readStatus' | 'readBalance' | 'requestRefund' | 'readTicket'

/** Counts a success and returns its result. Notes a failure and returns `undefined`. */
type Judge = (response: Promise<PublicResponse>) => Promise<PublicResponse['body'] | undefined>

/** What a client of the load does, again and again. */
type Act = (alpha: MerchantClient, judge: Judge) => Promise<void>

const CLIENTS_PER_ACT = 2
const PAUSE_MS = 100
/** The first two succeed, the third is canceled by the provider. */
const VALUES = [10_000, 20_000, 30_906]
/** The successes of each act that are awaited after each restart. */
const REQUESTS = 5
const LIMIT_MS = 300_000
const REFUND_AMOUNT = '100'

/** What clients do not do in a load. */
export interface LoadOptions {
  readonly without?: readonly ActName[]
}

/**
 * Starts the load: deposits, withdrawals, refunds, and reads of statuses, balances and a ticket, without the acts in
 * `without`.
 */
export function startSteadyLoad(
  demo: () => Demo,
  webhook_url: string,
  { without = [] }: LoadOptions = {},
): SteadyLoad {
  const payments = new Map<string, StormPayment>()
  const refunds: string[] = []
  const failures: string[] = []
  const counts = { deposit: 0, withdraw: 0, readStatus: 0, readBalance: 0, requestRefund: 0, readTicket: 0 }
  let is_open = true

  const judgeFor =
    (name: ActName): Judge =>
    async (pending) => {
      const response = await pending.catch((error: Error) => error)
      if (!(response instanceof Error) && response.http_status === 200 && response.body?.success === true) {
        counts[name] += 1
        return response.body.result
      }
      const what = response instanceof Error ? response.message : `${response.http_status} ${response.raw}`
      failures.push(`${name} at ${new Date().toISOString()}: ${what}`)
      return undefined
    }
  const run = async (name: ActName, act: Act): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const alpha = merchantClient(demo, 'alpha', agent)
    while (is_open) {
      await act(alpha, judgeFor(name))
      await sleep(PAUSE_MS)
    }
    agent.destroy()
  }
  const acts: Readonly<Record<ActName, Act>> = {
    deposit: createPayments('in', payments, webhook_url),
    withdraw: createPayments('out', payments, webhook_url),
    readStatus: readStatusesOf(payments),
    readBalance: async (alpha, judge) =>
      void (await judge(alpha.call({ method: 'balance.get', params: {} }))),
    requestRefund: requestRefundsOf(payments, refunds),
    readTicket: readOneTicket(),
  }
  const names = (Object.keys(acts) as ActName[]).filter((name) => !without.includes(name))
  const clients = names.flatMap((name) =>
    Array.from({ length: CLIENTS_PER_ACT }, () => run(name, acts[name])),
  )
  return {
    payments,
    refunds,
    failures,
    counts: () => ({ ...counts }),
    async untilMoreRequests() {
      const before = { ...counts }
      await eventually(
        async () => failures.length > 0 || names.every((name) => counts[name] >= before[name] + REQUESTS),
        (is_over) => is_over === true,
        LIMIT_MS,
      )
      if (failures.length > 0) throw new Error(failures.join('\n'))
    },
    async stop() {
      is_open = false
      await Promise.all(clients)
    },
  }
}

function createPayments(
  direction: 'in' | 'out',
  payments: Map<string, StormPayment>,
  webhook_url: string,
): Act {
  let turn = 0
  return async (alpha, judge) => {
    turn += 1
    const payment: StormPayment = { direction, value: VALUES[turn % VALUES.length] ?? 0 }
    const c_id = randomUUID()
    payments.set(c_id, payment)
    const create = direction === 'in' ? alpha.deposit : alpha.withdraw
    const pending = create(payment.value, { c_id, webhook_url })
    await judge(pending)
    const response = await pending.catch(() => undefined)
    if (response) payment.response = response
  }
}

function readStatusesOf(payments: ReadonlyMap<string, StormPayment>): Act {
  return async (alpha, judge) => {
    const accepted = [...payments].filter(([, { response }]) => response?.body?.success)
    const [c_id] = accepted[Math.floor(Math.random() * accepted.length)] ?? []
    if (c_id !== undefined) await judge(alpha.status(c_id))
  }
}

/** Asks for a small part of each deposit back once it has succeeded, under the `c_id` of the deposit. */
function requestRefundsOf(payments: ReadonlyMap<string, StormPayment>, refunds: string[]): Act {
  const seen = new Set<string>()
  return async (alpha, judge) => {
    const [c_id] = [...payments].find((entry) => isPayable(entry) && !seen.has(entry[0])) ?? []
    if (c_id === undefined) return
    seen.add(c_id)
    while ((await judge(alpha.status(c_id)))?.payment.status.final === false) await sleep(PAUSE_MS)
    const params = { identifiers: { c_id }, payment: { c_id }, amount: REFUND_AMOUNT }
    if (await judge(alpha.call({ method: 'refund.request', params }))) refunds.push(c_id)
  }
}

/** Whether it is an accepted deposit that the provider does not cancel. */
function isPayable([, { direction, value, response }]: readonly [string, StormPayment]): boolean {
  return direction === 'in' && value % 1_000 === 0 && response?.body?.success === true
}

function readOneTicket(): Act {
  const identifiers = { c_id: randomUUID() }
  const params = { identifiers, title: 'A question', description: 'Which one?', category: 'question' }
  let opened: Promise<unknown> | undefined
  return async (alpha, judge) => {
    opened ??= judge(alpha.call({ method: 'ticket.create', params }))
    await opened
    await judge(alpha.call({ method: 'ticket.get', params: { identifiers } }))
  }
}
