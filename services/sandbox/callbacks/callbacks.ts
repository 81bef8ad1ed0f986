import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { signRequest } from '#lib/platform/crypto/signed-request.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, now, type Timer } from '#lib/platform/time.ts'
import type { CallbackForm } from '../domain/scenarios.ts'
import { afterTry, callbackReport } from '../domain/transaction.ts'
import type { StoredTransaction, TransactionStore } from '../store/sandbox-store.ts'

/** A signed POST that is ready to go. */
export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** Sends callbacks about transactions that have settled until each is acknowledged or its tries are used up. */
export interface CallbackSender {
  /** Sends the callbacks of a new transaction when they are due, without waiting for a sweep. */
  schedule(transaction: StoredTransaction): void
  /** Begins to sweep for due callbacks, first of all for those that an earlier process left. */
  start(): void
  /** Breaks off what is being sent, which stays due and is sent again after the next start. */
  stop(): Promise<void>
}

/** So many exchanges at once; the receiver is one service of ours. */
const IN_FLIGHT_MAX = 64
/** So many transactions in memory; what is beyond waits in the store for a sweep. */
const KNOWN_MAX = 20_000
const SWEEP_MS = 1000
/** The first sweep takes up what an earlier process had timers for, further ones only what has no timer here. */
const FIRST_SWEEP_AHEAD_MS = 60_000
const PAGE = 500
const PAGES_MAX = KNOWN_MAX / PAGE

const lines = log.child('sandbox')

/**
 * Makes a sender. `post` answers whether the receiver acknowledged, and throws for faults of ours only. The store says
 * what is due: timers only make it timely, so a kill at any moment loses nothing and may at most repeat a callback.
 */
export function createCallbackSender(
  transactions: TransactionStore,
  key: Secret,
  post: (post: Post) => Promise<boolean>,
): CallbackSender {
  /** Of every transaction that this process has in hand, until the end of its try. */
  const timers = new Map<string, Timer>()
  const waiting = new Set<StoredTransaction>()
  const in_flight = new Set<Promise<void>>()
  const stopping = new AbortController()
  let sweeping: Timer | undefined

  const schedule = (transaction: StoredTransaction): void => {
    const id = idOf(transaction)
    const due_at = transaction.callback_due_at
    if (due_at === undefined || stopping.signal.aborted || timers.size >= KNOWN_MAX || timers.has(id)) return
    const begin = (): void => {
      waiting.add(transaction)
      next()
    }
    timers.set(id, clock.after(Math.max(0, due_at.getTime() - clock.now_ms()), begin))
  }

  const next = (): void => {
    for (const transaction of waiting) {
      if (in_flight.size >= IN_FLIGHT_MAX) return
      waiting.delete(transaction)
      const sending = send(transactions, transaction, stopping.signal, (form) =>
        post(signed(key, transaction, form, stopping.signal)),
      )
        .catch((error: unknown) =>
          lines.error({ error }, 'A callback could not be recorded; it is sent again'),
        )
        .finally(() => {
          in_flight.delete(sending)
          timers.delete(idOf(transaction))
          next()
        })
      in_flight.add(sending)
    }
  }

  const sweep = async (ahead_ms: number): Promise<void> => {
    const until = new Date(clock.now_ms() + ahead_ms)
    let after: StoredTransaction | undefined
    for (let page_number = 0; page_number < PAGES_MAX; page_number += 1) {
      const page = await transactions.dueBy(until, PAGE, after)
      for (const transaction of page) schedule(transaction)
      after = page.at(-1)
      if (page.length < PAGE || timers.size >= KNOWN_MAX) return
    }
  }

  const sweepFailed = (error: unknown): void => lines.error({ error }, 'The sweep for due callbacks failed')
  return {
    schedule,
    start() {
      sweep(FIRST_SWEEP_AHEAD_MS).catch(sweepFailed)
      sweeping = every(SWEEP_MS, () => sweep(0), sweepFailed)
    },
    async stop() {
      stopping.abort()
      sweeping?.cancel()
      for (const timer of timers.values()) timer.cancel()
      waiting.clear()
      await Promise.allSettled(in_flight)
    },
  }
}

/** Sends what is left of a transaction's callbacks, in order, and records how far that got. */
async function send(
  transactions: TransactionStore,
  transaction: StoredTransaction,
  stopping: AbortSignal,
  sendOne: (form: CallbackForm) => Promise<boolean>,
): Promise<void> {
  let acknowledged = 0
  for (const form of transaction.callbacks) {
    if (!(await sendOne(form))) break
    acknowledged += 1
  }
  // What a stop broke off was no try.
  if (stopping.aborted && acknowledged < transaction.callbacks.length) return
  const after = afterTry(transaction, acknowledged, now(), randomFraction())
  if (after.callbacks.length > 0 && after.callback_due_at === undefined) {
    lines.warn({ attempt: after.callback_attempts, kind: after.kind }, 'A callback used all its tries')
  }
  await transactions.update({ ...after, version: transaction.version })
}

function signed(key: Secret, transaction: StoredTransaction, form: CallbackForm, signal: AbortSignal): Post {
  const { account_id, callback_url: url } = transaction
  const { pathname, search } = new URL(url)
  const body = JSON.stringify(callbackReport(transaction, form))
  const request = { account_id, method: 'POST', path: pathname + search, body: Buffer.from(body) }
  return { url, headers: { 'content-type': 'application/json', ...signRequest(key, request) }, body, signal }
}

function idOf({ account_id, idempotency_key }: StoredTransaction): string {
  return `${account_id}/${idempotency_key}`
}
