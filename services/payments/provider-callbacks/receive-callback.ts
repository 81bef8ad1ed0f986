import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'
import type { ProviderReport, ReceivedCallback } from '../connectors/connector.ts'
import { decide } from '../domain/apply-provider-update.ts'
import type { Payment } from '../domain/payment.ts'
import type { ConnectedAccount } from '../effects/provider.ts'
import { keyOfPayment } from '../store/payments-store.ts'

/** What receiving a provider's callback needs. */
export interface CallbackParts {
  readonly payments: Collection<Payment>
  readonly runner: EffectRunner<Payment>
  /** The account with an id, `undefined` when the configuration has none of this environment. */
  findAccount(account_id: string, environment: string): ConnectedAccount | undefined
}

/** The status that a provider is answered with. It sends again after anything but 200 (trap: our own failures). */
export type CallbackStatus = 200 | 401 | 404

const PATH = /^\/callbacks\/([a-z0-9][a-z0-9_-]{0,63})\/([0-9]{1,20})\/(test|production)\/([0-9a-f-]{1,40})$/

/** The path of a payment's callbacks: it carries the partition, so that a cluster asks one shard and not all. */
export function callbackPath(account_id: string, { merchant_id, environment, h_id }: Payment): string {
  return `/callbacks/${account_id}/${merchant_id}/${environment}/${h_id}`
}

/**
 * Applies what a provider reports about a payment, once it has proved who it is. What is not proved changes nothing
 * and is answered 401. Throws when the store is away, so that the provider reports again.
 */
export async function receiveCallback(
  parts: CallbackParts,
  callback: ReceivedCallback,
): Promise<CallbackStatus> {
  const [, account_id = '', merchant_id = '', environment = '', h_id = ''] = PATH.exec(callback.path) ?? []
  const connected = parts.findAccount(account_id, environment)
  if (!connected) return 404
  const report = connected.connector.verifyCallback(connected.account, callback)
  if (!report) return 401
  const [payment] = await parts.payments.find(
    'by_h_id',
    { equals: [merchant_id, environment, h_id] },
    { limit: 1 },
  )
  const attempt = payment && attemptOf(payment, account_id, report)
  if (!payment || attempt === undefined) return 404
  const at = now()
  const verdict = {
    attempt,
    outcome: report.verdict,
    at,
    poll_at: new Date(at.getTime() + connected.poll.every_ms),
  }
  const apply = (current: Payment): Payment | undefined => {
    const decided = decide(current, verdict)
    return decided === current ? undefined : decided
  }
  const stored = await parts.runner.change(keyOfPayment(payment), apply, payment)
  // The state is durable: the ledger and the event follow without the provider waiting for them.
  if (stored) parts.runner.driveBehind(stored)
  return 200
}

/**
 * The attempt that a report is about, by the key under which it was sent; `undefined` when it was not sent to this
 * account: each provider proves who it is, and none may speak of what another was asked for.
 */
function attemptOf(
  { payment_id, provider_accounts }: Payment,
  account_id: string,
  { idempotency_key, kind }: ProviderReport,
): number | undefined {
  const prefix = `${payment_id}:`
  if (kind !== 'deposit' || !idempotency_key.startsWith(prefix)) return undefined
  const number = idempotency_key.slice(prefix.length)
  if (!/^[1-9][0-9]{0,3}$/.test(number)) return undefined
  return provider_accounts[Number(number) - 1] === account_id ? Number(number) : undefined
}
