import { clock, now } from '#lib/base/time.ts'
import { type Log, log } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { CallResult } from '../domain/call-result.ts'
import type { ProviderAccount } from './provider-account.ts'

/**
 * `closed`: payments use the account. `open`: new payments skip it. `half_open`: the next new payment is the probe that
 * decides whether it closes.
 */
export type CircuitState = 'closed' | 'open' | 'half_open'

/** What the operator sees of a circuit breaker. */
interface CircuitStatus {
  readonly state: CircuitState
  /** When this process opened or closed it last. */
  readonly since: Date
  /** The failures since the last proper response. */
  readonly failures: number
  readonly last_failure: { readonly reason: string; readonly at: Date } | undefined
}

/** A change of a circuit breaker, for logs and metrics. */
export interface CircuitChange {
  readonly state: 'open' | 'closed'
  readonly failures: number
  readonly reason: string | undefined
  /** The time until the next probe; 0 when closed. */
  readonly probe_after_ms: number
}

/** The permission of a new payment to use an account. */
export interface Pass {
  /** For a payment that does not use the account after all: if it is the probe still, the next payment can be the probe. */
  giveBack(): void
}

/** Keeps new payments away from a provider account that keeps failing, until a probe finds it working. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** Five creates in a row fail by chance only when many others fail too. */
const FAILURES_TO_OPEN = 5
/** The time until the first probe. It doubles with each probe that fails. */
const PROBE_FIRST_MS = 5_000
const PROBE_MAX_MS = 60_000

interface OpenCircuit {
  readonly interval_ms: number
  /** When it became or becomes half-open, on the monotonic clock. */
  readonly half_open_at_ms: number
  /** When the next probe may begin. A probe that never reaches the provider is followed by another one. */
  readonly probe_at_ms: number
}

const PASS_WITHOUT_PROBE: Pass = { giveBack: () => {} }

/** Makes the closed breaker of one account, for this process. `onChange` is called when it opens, stays open and closes. */
export function createCircuitBreaker(onChange: (change: CircuitChange) => void) {
  let opened: OpenCircuit | undefined
  let since = now()
  let failures = 0
  let last_failure: CircuitStatus['last_failure']
  // A call that began before the last change says nothing about the time after it.
  let period = 0

  const change = (next: OpenCircuit | undefined): void => {
    if ((opened === undefined) !== (next === undefined)) since = now()
    opened = next
    period += 1
    const probe_after_ms = next?.interval_ms ?? 0
    onChange({ state: next ? 'open' : 'closed', failures, reason: last_failure?.reason, probe_after_ms })
  }
  const open = (interval_ms: number): void => {
    const at_ms = clock.monotonic_ms() + interval_ms
    change({ interval_ms, half_open_at_ms: at_ms, probe_at_ms: at_ms })
  }
  const isHalfOpen = ({ half_open_at_ms }: OpenCircuit): boolean => clock.monotonic_ms() >= half_open_at_ms

  const hasPass = (): boolean => opened === undefined || clock.monotonic_ms() >= opened.probe_at_ms

  const fail = (reason: string): void => {
    failures += 1
    last_failure = { reason, at: now() }
    if (opened === undefined) {
      if (failures >= FAILURES_TO_OPEN) open(PROBE_FIRST_MS)
    } else if (isHalfOpen(opened)) open(Math.min(opened.interval_ms * 2, PROBE_MAX_MS))
  }
  const succeed = (): void => {
    failures = 0
    if (opened) change(undefined)
  }
  return {
    status(): CircuitStatus {
      const state = opened === undefined ? 'closed' : isHalfOpen(opened) ? 'half_open' : 'open'
      return { state, since, failures, last_failure }
    },
    /** Whether a new payment may use the account now. It changes nothing. */
    hasPass,
    /**
     * Lets a new payment use the account; `undefined` when it may not. A half-open breaker gives one pass per interval: its
     * payment is the probe.
     */
    takePass(): Pass | undefined {
      if (!hasPass()) return undefined
      if (!opened) return PASS_WITHOUT_PROBE
      const before = opened
      const probed = { ...before, probe_at_ms: clock.monotonic_ms() + before.interval_ms }
      opened = probed
      return {
        giveBack() {
          if (opened === probed) opened = before
        },
      }
    },
    /** Performs a create and counts its result. A refusal by the provider is a proper response. Never refuses a call. */
    async observe(call: () => Promise<CallResult>): Promise<CallResult> {
      const began = period
      const result = await call()
      if (began !== period) return result
      if (result.kind !== 'not_sent' && result.kind !== 'unknown') succeed()
      else if (result.is_provider_failure) fail(result.reason)
      return result
    },
  }
}

// The configuration names the accounts, so the number of label values is bounded.
const circuit_open = gauge(
  'multihub_provider_circuit_open',
  'Whether the circuit breaker of a provider account is open in this process: 1 or 0.',
  ['provider_account'],
)
const openings_total = counter(
  'multihub_provider_circuit_openings_total',
  'How often the circuit breaker of a provider account opened, failed probes included.',
  ['provider_account'],
)
const payments_log = log.child('payments')

/**
 * Makes the breaker of an account, which logs its changes and counts them. The built-in accounts of the sandbox get one
 * that never opens: merchants choose their failures by the amount, and must see the same result each time.
 */
export function createAccountBreaker(
  { account_id, is_simulated }: ProviderAccount,
  breaker_log: Log = payments_log,
): CircuitBreaker {
  const labels = { provider_account: account_id }
  circuit_open.set(labels, 0)
  const breaker = createCircuitBreaker(({ state, failures, reason, probe_after_ms }) => {
    const is_open = state === 'open'
    circuit_open.set(labels, is_open ? 1 : 0)
    if (is_open) {
      openings_total.increment(labels)
      breaker_log.error(
        { ...labels, state, reason, count: failures, delay_ms: probe_after_ms },
        'the provider account keeps failing; its circuit breaker is open and new payments skip it',
      )
    } else
      breaker_log.info({ ...labels, state }, 'the provider account works again; its circuit breaker closed')
  })
  return is_simulated ? { ...breaker, observe: (call) => call() } : breaker
}
