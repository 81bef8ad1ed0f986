import { createHmac } from 'node:crypto'
import type { PulledDelivery } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { constantTimeEqual } from '#lib/base/crypto/hash.ts'
import { clock, elapsedSince, sleep } from '#lib/base/time.ts'

/** What a program on this machine did with a callback, and what follows. */
export type LocalAnswer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly duration_ms: number
      /** The beginning of the body. */
      readonly text: string
      readonly next: 'taken' | 'sent_again' | 'given_up'
    }
  /** It took the connection and did not answer, as at a breakpoint or when the callback ends it. */
  | { readonly kind: 'broke_off'; readonly reason: string; readonly next: 'sent_again' | 'given_up' }
  /** Nothing listens there: it is waited for. */
  | { readonly kind: 'unreachable'; readonly reason: string }

/** How often a callback is sent to a receiver that answers with an error, and the pause before the first repetition. */
const TRIES_MAX = 3
const PAUSE_MS = 1_000

const TIMEOUT_MS = 30_000

/** The most of an answer that is read: it is only shown. */
const TEXT_MAX = 2_000

/**
 * Sends a callback until the receiver takes it: for as long as nothing listens there, and three times when it answers with an error or
 * not at all. The last answer counts then, so that one callback with a fault in its receiver does not hold up the others.
 *
 * @param onAnswer gets the answer of each try; of tries that find nothing, only the first answer
 */
export async function deliverCallback(
  delivery: PulledDelivery,
  target: URL,
  onAnswer: (answer: LocalAnswer) => void,
): Promise<void> {
  let is_waiting = false
  for (let tries = 1; ; ) {
    const answer = await forward(target, delivery, tries === TRIES_MAX)
    if (answer.kind !== 'unreachable' || !is_waiting) onAnswer(answer)
    is_waiting = answer.kind === 'unreachable'
    if (answer.kind !== 'unreachable') {
      if (answer.next !== 'sent_again') return
      tries += 1
    }
    await sleep(PAUSE_MS * Math.max(1, tries - 1))
  }
}

/** Sends the exact bytes and headers of a callback. Never throws. */
async function forward(
  target: URL,
  { headers, body }: PulledDelivery,
  is_last: boolean,
): Promise<LocalAnswer> {
  const started_ms = clock.monotonic_ms()
  const after_failure = is_last ? 'given_up' : 'sent_again'
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers,
      body: new Uint8Array(body ?? []),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { status } = response
    const duration_ms = Math.round(elapsedSince(started_ms))
    const is_taken = status >= 200 && status < 300
    const next = is_taken ? 'taken' : after_failure
    return { kind: 'answered', status, duration_ms, text: await readBeginning(response), next }
  } catch (error) {
    const { cause, message } = error as Error & { readonly cause?: Error & { readonly code?: string } }
    const reason = cause?.message || message
    return NOBODY_THERE.has(cause?.code ?? '')
      ? { kind: 'unreachable', reason }
      : { kind: 'broke_off', reason, next: after_failure }
  }
}

/** The codes of a connection that nobody took. */
const NOBODY_THERE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Only the status counts: an answer that breaks off is read as far as it came. */
async function readBeginning({ body }: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= TEXT_MAX) break
    }
  } catch {
    // What came is shown.
  }
  return text.slice(0, TEXT_MAX)
}

/** Whether signature V3 is right: HMAC-SHA512 over time, nonce, id and the exact body. */
export function isAuthentic({ headers, body }: PulledDelivery, secret: string): boolean {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const [timestamp, nonce, id, signature] = ['timestamp', 'nonce', 'id', 'signature-v3'].map(
    (name) => values.get(`x-webhook-${name}`) ?? '',
  )
  const expected = createHmac('sha512', secret)
    .update(`${timestamp}.${nonce}.${id}.`)
    .update(body ?? new Uint8Array())
    .digest('hex')
  return constantTimeEqual(signature ?? '', expected)
}
