import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ResourceFilter } from '../services/support/domain/resource-list.ts'
import { openSupportStore } from '../services/support/store/support-store.ts'
import { newTicket } from '../services/support/tickets/domain/new-ticket.ts'
import type { Ticket } from '../services/support/tickets/domain/ticket.ts'
import { TICKET_LIST } from '../services/support/tickets/store/tickets.ts'
import { listResources } from '../services/support/use-cases/list-resources.ts'
import { createSummary } from '../services/support/use-cases/summarize.ts'
import type { BenchResult } from './result.ts'

const FEW = 1_000
const MANY = 1_000_000
const PAGE = 25
/** The page of the depth measurement: all pages before it are read once. */
const DEEP_PAGE = 1_000
const READS = 2_000
const INSERTS_AT_ONCE = 2_000
const STATUSES = ['open', 'in_progress', 'resolved', 'closed'] as const
const CATEGORIES = ['question', 'bug', 'limits', 'account'] as const
const PRIORITIES = ['low', 'medium', 'high'] as const

/** Goals of the issue: at most 1.2 times. */
const GOAL = { ratio: 1 / 1.2 }

/** All orders of three pages, so that each is read first, second and third, and after each other one. */
const ORDERS = [
  [0, 1, 2],
  [2, 1, 0],
  [1, 2, 0],
  [0, 2, 1],
  [2, 0, 1],
  [1, 0, 2],
] as const

/** A page of tickets that is read. */
interface Page {
  readonly filter: ResourceFilter
  readonly cursor: string
}

/** The times of reads, in milliseconds. */
interface Times {
  readonly p50: number
  readonly p99: number
}

/**
 * `tickets`: a page of 25 of `ticket.list`, in the embedded store, without the gateway: the first and the thousandth page
 * of a merchant with 1,000,000 tickets. The baseline is the first page of a merchant with 1,000 tickets. And its
 * `ticket.summary`.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-tickets-'))
  const store = await openStore({ database: 'support', directory, timeout_ms: 60_000 })
  try {
    const { tickets } = await openSupportStore(store)
    await seed(tickets, 'few', FEW)
    await seed(tickets, 'many', MANY)
    return [
      ...(await compare(tickets, 'all', {})),
      ...(await compare(tickets, 'one status', { status: ['open'] })),
      ...(await compare(tickets, 'two statuses and two categories', {
        status: ['open', 'resolved'],
        category: ['bug', 'limits'],
      })),
      ...(await measureSummary(tickets)),
    ]
  } finally {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Stores tickets as they are when all their effects have run. */
async function seed(tickets: Collection<Ticket>, merchant_id: string, count: number): Promise<void> {
  const started_ms = Date.UTC(2026, 0, 1)
  for (let first = 0; first < count; first += INSERTS_AT_ONCE) {
    const length = Math.min(INSERTS_AT_ONCE, count - first)
    const batch = Array.from({ length }, (_, place) => ticketOf(merchant_id, first + place, started_ms))
    await Promise.all(batch.map((ticket) => tickets.insert(ticket)))
  }
}

function ticketOf(merchant_id: string, number: number, started_ms: number): Ticket {
  const choose = <T>(words: readonly [T, ...T[]], divisor: number): T =>
    words[Math.floor(number / divisor) % words.length] ?? words[0]
  const ticket_id = uuidv7()
  const category = choose(CATEGORIES, 4)
  const priority = choose(PRIORITIES, 16)
  const text = { c_id: ticket_id, title: 'A question', description: 'What is the highest amount?' }
  const ticket = newTicket(
    { merchant_id, environment: 'test', ...text, category, priority },
    { ticket_id, payment: undefined, attachments: [] },
    new Date(started_ms + number * 1_000),
  )
  return { ...ticket, status: choose(STATUSES, 1), effects: [] }
}

async function compare(
  tickets: Collection<Ticket>,
  what: string,
  only: Readonly<Record<string, readonly string[]>>,
): Promise<BenchResult[]> {
  const few = { ...filterOf('few'), only }
  const many = { ...filterOf('many'), only }
  const cursor = await cursorOf(tickets, many, DEEP_PAGE)
  const [baseline, first, deep] = await measure(tickets, [
    { filter: few, cursor: '' },
    { filter: many, cursor: '' },
    { filter: many, cursor },
  ])
  const row = (name: string, ours: number, of: number): BenchResult => ({
    name: `ticket.list of 10^6, ${what}, ${name}`,
    ours,
    baseline: of,
    unit: 'ms',
    ratio: of / ours,
    goal: GOAL,
  })
  return [
    row('first page, p50', first.p50, baseline.p50),
    row('first page, p99', first.p99, baseline.p99),
    row('page 1,000, p50', deep.p50, baseline.p50),
    row('page 1,000, p99', deep.p99, baseline.p99),
  ]
}

/** Goals of the issue: the answer within its 3 s, and other work never waits for more than 10 ms. */
const SUMMARY_AT_MOST_MS = 3_000
const BLOCKED_AT_MOST_MS = 10
const SUMMARIES = 10

/**
 * The summary of a million tickets: its time, and the longest time for which it keeps the event loop.
 */
async function measureSummary(tickets: Collection<Ticket>): Promise<BenchResult[]> {
  const summarize = createSummary(tickets, TICKET_STATUSES.names)
  const times: number[] = []
  const pauses: number[] = []
  for (let run = 0; run < SUMMARIES; run += 1) {
    const started_ms = clock.monotonic_ms()
    let is_over = false
    let before_ms = started_ms
    const watch = (): void => {
      const now_ms = clock.monotonic_ms()
      pauses.push(now_ms - before_ms)
      before_ms = now_ms
      if (!is_over) setImmediate(watch)
    }
    setImmediate(watch)
    await summarize({ merchant_id: 'many', environment: 'test' })
    is_over = true
    times.push(clock.monotonic_ms() - started_ms)
  }
  const limited = (name: string, ours: number, at_most: number): BenchResult => ({
    name: `ticket.summary of 10^6, ${name}`,
    ours,
    unit: 'ms',
    goal: { at_most },
  })
  return [
    limited('p50', timesOf(times).p50, SUMMARY_AT_MOST_MS),
    limited('longest hold of the event loop, p99', timesOf(pauses).p99, BLOCKED_AT_MOST_MS),
  ]
}

const keyring = testKeys().cursor

function filterOf(merchant_id: string): ResourceFilter {
  return { merchant_id, environment: 'test' }
}

function readList(tickets: Collection<Ticket>, filter: ResourceFilter, cursor: string) {
  const list = { ...TICKET_LIST, collection: tickets, keyring }
  return listResources(list, filter, { limit: PAGE, cursor })
}

async function cursorOf(tickets: Collection<Ticket>, filter: ResourceFilter, page: number): Promise<string> {
  let cursor = ''
  for (let read = 1; read < page; read += 1) {
    cursor = (await readList(tickets, filter, cursor)).next_cursor
  }
  return cursor
}

/**
 * Times the three pages in turns: what else the machine does then slows all three, and the ratio stays true. The collector
 * of one page's garbage often runs while the next one is read, so each round begins with another page.
 */
async function measure(
  tickets: Collection<Ticket>,
  pages: readonly [Page, Page, Page],
): Promise<[Times, Times, Times]> {
  const times: [number[], number[], number[]] = [[], [], []]
  for (let read = 0; read < READS * pages.length; read += 1) {
    const turn = ORDERS[Math.floor(read / 3) % ORDERS.length]?.[read % 3] ?? 0
    const { filter, cursor } = pages[turn]
    const started_ms = clock.monotonic_ms()
    await readList(tickets, filter, cursor)
    times[turn].push(clock.monotonic_ms() - started_ms)
  }
  return [timesOf(times[0]), timesOf(times[1]), timesOf(times[2])]
}

function timesOf(times: number[]): Times {
  times.sort((a, b) => a - b)
  const at = (fraction: number): number => times[Math.floor(times.length * fraction)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
