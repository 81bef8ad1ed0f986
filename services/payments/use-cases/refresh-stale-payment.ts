import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { now, withTimeout } from '#lib/base/time.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import { leasableAtMs } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'

/** Shows a merchant the newest status of a payment that it asks for. Never rejects. */
export type RefreshStalePayment = (payment: Stored<Payment>) => Promise<Stored<Payment>>

/** A payment is asked for at most once in this time by one process, however often the merchant reads it. */
const PAUSE_MS = 10_000
/** A poll that is due within this time is not hastened. */
const SOON_MS = 5_000
/** How long the merchant waits for the provider. A later result is stored all the same. */
const WAIT_MAX_MS = 1_000
/** The payments whose last question is remembered. One that is forgotten early is asked for once more. */
const REMEMBERED_MAX = 20_000

/**
 * Makes the refresh of payments that wait for their provider. Polls of a payment that has been open for long are minutes
 * apart; when its merchant asks for it, the next one comes at once. A poll on demand has the same budget per provider
 * account as all others.
 */
export function createRefreshStalePayment(
  runner: Pick<EffectRunner<StoredPayment>, 'runEarly'>,
): RefreshStalePayment {
  const asked_at_ms = new LRUCache<string, number>(entriesUpTo(REMEMBERED_MAX))

  return async (payment) => {
    const poll = payment.effects.find(pollProviderEffect.matches)
    if (isFinal(payment.status) || poll === undefined) return payment
    const now_ms = now().getTime()
    const last_ms = asked_at_ms.get(payment.payment_id) ?? Number.NEGATIVE_INFINITY
    if (leasableAtMs(poll) <= now_ms + SOON_MS || now_ms < last_ms + PAUSE_MS) return payment
    asked_at_ms.set(payment.payment_id, now_ms)
    // The runner has logged a failure. The payment is shown as stored then.
    const polled = runner.runEarly(payment, poll.id).catch(() => undefined)
    const newest = await withTimeout(polled, WAIT_MAX_MS)
    return newest ? requireAdmitted(newest) : payment
  }
}
