import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { EffectHandler, Outcome } from '#lib/patterns/effects/runner.ts'
import { now } from '#lib/platform/time.ts'
import type { Connector, ProviderOrder, ProviderOutcome } from '../connectors/connector.ts'
import type { ProviderAccount } from '../connectors/provider-account.ts'
import { decide, expire } from '../domain/apply-provider-update.ts'
import { attemptKey, type Payment } from '../domain/payment.ts'
import { isSettled } from '../domain/transition-table.ts'

/** When a provider that has not decided is asked, and asked again. */
export interface PollSchedule {
  readonly first_ms: number
  readonly every_ms: number
}

/** An account with the protocol that it speaks. */
export interface ConnectedAccount {
  readonly account: ProviderAccount
  readonly connector: Connector
  readonly poll: PollSchedule
}

/** What the provider's part of a payment needs. */
export interface ProviderParts {
  /** The account of a payment's attempt; throws when the configuration has none of its environment any more. */
  connected(payment: Payment): ConnectedAccount
  /** Where the provider reports on a payment. */
  callbackUrl(payment: Payment): string
  /** How long a create may take before it is answered without the provider (P5). */
  readonly create_timeout_ms: number
  /** Aborted when the process is told to stop: nobody waits for a provider then. */
  readonly stopping: AbortSignal
}

const LEASE_SLACK_MS = 5_000
/** What an account gets at least when the ones before it have used up the time of the create. */
const ATTEMPT_MIN_MS = 2_000
const POLL_TIMEOUT_MS = 10_000
/** A crash in every one of so many claims in a row is no accident: the operator looks at it. */
const CRASHES_MAX = 20

/** The kinds of effect by which a payment acts at its provider and waits for it. */
export function providerKinds(parts: ProviderParts): Record<string, EffectHandler<Payment>> {
  return {
    provider_create: {
      lease_ms: parts.create_timeout_ms + LEASE_SLACK_MS,
      tries_max: CRASHES_MAX,
      run: (effect, payment) => runCreate(parts, effect, payment),
    },
    provider_poll: {
      lease_ms: POLL_TIMEOUT_MS + parts.create_timeout_ms + LEASE_SLACK_MS,
      tries_max: CRASHES_MAX,
      run: (_effect, payment) => runPoll(parts, payment),
    },
    expire: {
      lease_ms: LEASE_SLACK_MS,
      tries_max: CRASHES_MAX,
      run: async () => (current) => expire(current, now()),
    },
  }
}

async function runCreate(
  parts: ProviderParts,
  { tries }: Effect,
  payment: Payment,
): Promise<Outcome<Payment>> {
  if (isSettled(payment.state)) return (current) => current
  // A try that is claimed again was cut off by a crash: nobody knows what was sent (P4).
  if (tries > 1)
    return applied(payment, { kind: 'unknown', reason: 'the process ended during the request' }, 0)
  const connected = parts.connected(payment)
  // All accounts together get the time of one create: the merchant waits for the last of them (P5).
  const used_ms = now().getTime() - payment.created_at.getTime()
  const timeout_ms = Math.max(parts.create_timeout_ms - Math.max(0, used_ms), ATTEMPT_MIN_MS)
  const outcome = await send(parts, connected, payment, { timeout_ms, repeated: false })
  // Not the account is at fault but this process, which is told to stop: the next one asks for it again.
  const held: ProviderOutcome =
    outcome.kind === 'not_sent' && parts.stopping.aborted ? { ...outcome, kind: 'unknown' } : outcome
  return applied(payment, held, connected.poll.first_ms)
}

async function runPoll(parts: ProviderParts, payment: Payment): Promise<Outcome<Payment>> {
  if (isSettled(payment.state)) return (current) => current
  const connected = parts.connected(payment)
  const { account, connector, poll } = connected
  const found = await connector.lookUp(
    account,
    attemptKey(payment),
    'deposit',
    POLL_TIMEOUT_MS,
    parts.stopping,
  )
  if (found.kind !== 'not_found') return applied(payment, found, poll.every_ms)
  // "Not found" never proves that the request is not still on its way; only a provider that treats a repeated key as
  // one payment may be asked again.
  const outcome: ProviderOutcome = connector.create_is_idempotent
    ? await send(parts, connected, payment, { timeout_ms: parts.create_timeout_ms, repeated: true })
    : { kind: 'unknown', reason: 'the provider does not know the payment' }
  // Whatever was sent the first time may still arrive, so that nothing was sent now proves nothing either.
  return applied(
    payment,
    outcome.kind === 'not_sent' ? { ...outcome, kind: 'unknown' } : outcome,
    poll.every_ms,
  )
}

function send(
  parts: ProviderParts,
  { account, connector }: ConnectedAccount,
  payment: Payment,
  { timeout_ms, repeated }: { readonly timeout_ms: number; readonly repeated: boolean },
): Promise<ProviderOutcome> {
  return connector.create(account, orderOf(parts, payment, repeated), timeout_ms, parts.stopping)
}

function orderOf(parts: ProviderParts, payment: Payment, repeated: boolean): ProviderOrder {
  const { email, phone, person, customer_account } = payment.payer ?? {}
  return {
    kind: 'deposit',
    idempotency_key: attemptKey(payment),
    amount: { minor: payment.amount, currency: payment.currency },
    method: payment.method,
    callback_url: parts.callbackUrl(payment),
    repeated,
    expires_at: payment.expires_at,
    payer: {
      ...(email === undefined ? {} : { email }),
      ...(phone === undefined ? {} : { phone }),
      ...person,
      ...(customer_account?.id === undefined ? {} : { customer_account_id: customer_account.id }),
    },
  }
}

/** The outcome as a change of the payment, as it will be when the change is written. */
function applied({ attempt }: Payment, outcome: ProviderOutcome, wait_ms: number): Outcome<Payment> {
  const at = now()
  const verdict = { attempt: attempt.number, outcome, at, poll_at: new Date(at.getTime() + wait_ms) }
  return (current) => decide(current, verdict)
}
