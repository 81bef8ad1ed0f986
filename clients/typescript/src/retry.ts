import { RefusalError, TransportError } from './errors.ts'

/** How often and how long a client tries. */
export interface RetrySettings {
  /** How often a request is sent at most. */
  tries_max: number
  /** The first wait; each further one is twice as long. */
  wait_ms: number
  /** The longest wait. An answer that asks for more is passed on to the caller. */
  wait_max_ms: number
  /** After this time no try begins. */
  deadline_ms: number
}

/** Whether an error leaves open if the server has acted on the request. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof TransportError) return true
  // Something on the way sent the request twice, and the answer is about the second one: its nonce was used by the first.
  return error instanceof RefusalError && error.code === 3000
}

/** Whether an unsigned answer refuses the credential. A server that does so once does so again. */
export function isCredentialRefused(error: unknown): boolean {
  return error instanceof TransportError && error.reason === 'credential'
}

/** Whether the request has not left, because no connection was made. */
export function isNotSent(error: unknown): boolean {
  return error instanceof TransportError && error.reason === 'not_sent'
}

/** How long to wait before the request is sent again; `undefined` if it must not be, or if the tries or the time are used up. */
export function waitAfter(
  error: unknown,
  tries: number,
  began_ms: number,
  settings: RetrySettings,
): number | undefined {
  const can_repeat =
    isUnanswered(error) ||
    (error instanceof RefusalError && (error.retry === 'same_request' || error.retry === 'check_status'))
  const wanted_ms = (error instanceof RefusalError ? error.retry_after_ms : undefined) ?? 0
  if (!can_repeat || tries >= settings.tries_max || wanted_ms > settings.wait_max_ms) return undefined
  const backoff_ms = Math.min(settings.wait_ms * 2 ** (tries - 1), settings.wait_max_ms)
  // Clients that failed together must not come back together.
  const wait_ms = Math.max(wanted_ms, backoff_ms * (0.5 + Math.random() / 2))
  return Date.now() - began_ms + wait_ms > settings.deadline_ms ? undefined : wait_ms
}

/**
 * Repeats a request that is harmless to repeat until it has an answer that counts. Throws the error `not_sent` only if no try was
 * sent; otherwise the error of a try that was.
 */
export async function repeatedly<T>(
  settings: RetrySettings,
  signal: AbortSignal | undefined,
  send: () => Promise<T>,
  began_ms = Date.now(),
): Promise<T> {
  let sent: unknown
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (error) {
      const is_not_sent = isNotSent(error)
      // A lost answer leaves more open than a refusal, so it is kept.
      if (!is_not_sent && (isUnanswered(error) || !isUnanswered(sent))) sent = error
      const wait_ms = waitAfter(error, tries, began_ms, settings)
      if (wait_ms === undefined || isCredentialRefused(error)) throw is_not_sent ? (sent ?? error) : error
      await pause(wait_ms, signal)
    }
  }
}

/** Waits, unless the signal is aborted. */
export function pause(time_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, time_ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
