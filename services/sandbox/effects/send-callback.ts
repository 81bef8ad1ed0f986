import type { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import type { HttpClient } from '#lib/http/client.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { type BoundEffect, defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { callbackReport, type Operation } from '../domain/operation.ts'
import { type CallbackContent, isCallbackContent } from '../domain/scenario.ts'

/** The effect that sends one callback of an operation. `position` counts the operation's callbacks from 0. */
const sendCallbackEffect = defineEffect({
  kind: 'send_callback',
  lane: 'external',
  data: { content: isCallbackContent },
  id: ({ provider_id, position }: { readonly provider_id: string; readonly position: number }) =>
    `${provider_id}:callback:${position}`,
})

interface SendCallbackDeps {
  readonly http: Pick<HttpClient, 'request'>
  readonly key: Secret
  /** Interrupts requests in progress. */
  readonly stopping: AbortSignal
}

/** As many as the HTTP client has connections to the one receiver: a further callback would wait under its lease. */
const CONCURRENCY_MAX = 64
const TIMEOUT_MS = 10_000
/** Only the status of a response counts. Its body is read within these limits, so that the connection can be reused. */
const RESPONSE_MAX_BYTES = 4096
const RESPONSE_BODY_MS = 1000
/** More than one request can take: 10 s until the response and 1 s for its body. */
const LEASE_MS = 15_000
/** With the back-off, 12 tries take three minutes on average and six at most. */
const TRIES_MAX = 12
const BACKOFF = { first_ms: 1_000, max_ms: 60_000 }

/**
 * Makes the effects of a new operation: one per callback, due at completion. Each waits until the previous callback is
 * acknowledged, so that the order of the scenario holds. An operation that never completes has none.
 */
export function callbackEffects(operation: Operation, contents: readonly CallbackContent[]): Effect[] {
  const { provider_id, created_at: at, completes_at: due_at } = operation
  if (due_at === undefined) return []
  const effects: Effect[] = []
  for (const [position, content] of contents.entries()) {
    const timing = { at, due_at, after: effects.at(-1)?.id }
    effects.push(sendCallbackEffect.newEffect({ provider_id, position }, { content }, timing))
  }
  return effects
}

/**
 * Binds the handler, which posts a signed report to the `callback_url`. HTTP 2xx acknowledges a callback; everything
 * else is a failed try, and after 12 tries the effect is stuck. A crash may repeat a callback and never loses one.
 */
export function bindSendCallback({ http, key, stopping }: SendCallbackDeps): BoundEffect<Operation> {
  return sendCallbackEffect.bind<Operation>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    backoff: BACKOFF,
    budget: createBudget(CONCURRENCY_MAX),
    async run({ data }, operation) {
      const { account_id, callback_url: url } = operation
      const { pathname, search } = new URL(url)
      const body = Buffer.from(JSON.stringify(callbackReport(operation, data.content)))
      const signed = { account_id, method: 'POST', path: pathname + search, body } as const
      const { status } = await http.request({
        method: 'POST',
        url,
        createHeaders: () => ({ 'content-type': 'application/json', ...signRequest(key, signed) }),
        body,
        timeout_ms: TIMEOUT_MS,
        response_max_bytes: RESPONSE_MAX_BYTES,
        body_grace_ms: RESPONSE_BODY_MS,
        signal: stopping,
      })
      if (status < 200 || status > 299) throw new Error(`callback was not acknowledged: HTTP ${status}`)
      return (current) => current
    },
  })
}
