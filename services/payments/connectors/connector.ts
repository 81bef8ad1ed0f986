import type { z } from 'zod'
import type { ReceivedHeaders } from '#lib/base/crypto/signed-request.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Money } from '#lib/contract/money.ts'
import type { CallResult, LookupResult, OperationKind, ProviderStatus } from '../domain/call-result.ts'
import type { AccountOf } from './provider-account.ts'
import type { ProviderHttp } from './provider-http.ts'

/** What the merchant reported about a person. Providers may ignore all of it. */
export interface PersonDetails {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly first_name?: string | undefined
  readonly last_name?: string | undefined
}

interface OrderBase {
  /** The permanent name of this operation: up to 128 characters of `A-Z a-z 0-9 . _ : -`. */
  readonly idempotency_key: string
  readonly amount: Money
  readonly method: string
  /** The URL for the provider's callbacks. The signature of a callback covers its path. */
  readonly callback_url: string
  /**
   * True when the same key may have been sent before, with an unknown result. A refusal is then `unknown` too, because
   * the earlier request may have been accepted. Only a lookup can tell.
   */
  readonly earlier_result_unknown?: boolean
}

/** A request for one operation at a provider. */
export type ProviderOrder =
  | (OrderBase & {
      readonly kind: 'deposit'
      readonly expires_at: Date
      readonly payer: PersonDetails & { readonly customer_account_id?: string | undefined }
    })
  | (OrderBase & {
      readonly kind: 'withdrawal'
      readonly beneficiary: PersonDetails & {
        /** The number of the bank account: an account number, CLABE, CBU, CVU or IBAN. Not a provider account. */
        readonly account_id: string
        readonly ifsc?: string | undefined
        readonly bank_code?: string | undefined
      }
    })
  | (OrderBase & {
      readonly kind: 'refund'
      /** The idempotency key of the deposit that is refunded, fully or partially. */
      readonly deposit_idempotency_key: string
    })

/** What a provider reports about one operation, in a response or a callback. */
export interface ProviderReport {
  readonly kind: OperationKind
  readonly idempotency_key: string
  readonly result: ProviderStatus
}

/** A request at the address for callbacks. `path` is the raw request target, `body` the exact bytes. */
export interface ProviderCallback {
  readonly method: string
  readonly path: string
  readonly headers: ReceivedHeaders
  readonly body: Uint8Array
}

/** Names an operation at the provider. */
export type OperationName = Pick<ProviderReport, 'kind' | 'idempotency_key'>

/** What a provider can do, and what it promises. Constant for each connector. */
export interface Capabilities {
  /** The operations that the provider performs. A payment that needs another one is refused with 1002. */
  readonly operations: readonly OperationKind[]
  /** The payment methods that the provider has. A payment with another one is refused with 1002. */
  readonly methods: readonly string[]
  /** The most operations of one account that one lookup request can name; 1 when each needs its own. */
  readonly lookups_max: number
  /** Whether the provider sends callbacks. Without them, the status of an operation comes from polls and late lookups only. */
  readonly sends_callbacks: boolean
  /**
   * For how long after the first request the provider treats a repeated key as the same operation. Within this time a
   * create with an unknown result is sent again after "not found" (P4). 0: never. A provider that keeps its keys
   * permanently has an infinite window.
   */
  readonly idempotency_window_ms: number
}

/** The result of a create, with the HTTP status of the response if one came. */
export type CreateResult = CallResult & { readonly http_status?: number }

/** What a connector implements. Errors of the provider or the network are results, never exceptions. */
export interface ProviderCalls {
  /**
   * Creates an operation; a refund is an operation too. `signal` ends the wait; the result is then `unknown` if anything
   * was sent. An order that the protocol cannot express is `not_sent`.
   */
  create(order: ProviderOrder, timeout_ms: number, signal?: AbortSignal): Promise<CreateResult>
  /** Reads the status of 1 to `lookups_max` operations with one request; the results have the same order. */
  lookUp(
    operations: readonly OperationName[],
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<readonly LookupResult[]>
  /**
   * The report of a callback; `undefined` when the account did not authenticate these exact bytes, or when they are not a
   * valid report. Only for a provider that sends callbacks.
   */
  parseCallback?(callback: ProviderCallback): ProviderReport | undefined
}

/** The code for one provider protocol, connected to one account. Its lookups of one operation are gathered into requests. */
export interface Connector extends Capabilities, Required<Omit<ProviderCalls, 'lookUp'>> {
  lookUp(operation: OperationName, timeout_ms: number, signal?: AbortSignal): Promise<LookupResult>
}

/**
 * When a provider that has not decided is polled: first `first_ms` after the create, then in intervals that grow with the
 * age of the attempt, up to `max_ms`.
 */
export interface PollSchedule {
  readonly first_ms: number
  readonly max_ms: number
}

/** The schedule of a payment whose account is no longer configured. */
export const DEFAULT_POLL_SCHEDULE: PollSchedule = { first_ms: 60_000, max_ms: 300_000 }

/** Each interval is at most this share longer, so that payments which were created together are not polled together. */
const JITTER = 0.1

/**
 * The time until the next poll of an attempt that is `age_ms` old. It is half of the age within the bounds of the
 * schedule: a payment that just began is asked for often, one that has been open for long seldom. `random` is in [0, 1).
 */
export function pollIntervalMs({ first_ms, max_ms }: PollSchedule, age_ms: number, random: number): number {
  const interval_ms = Math.min(Math.max(age_ms / 2, first_ms), max_ms)
  return Math.round(interval_ms * (1 + JITTER * random))
}

/** Which texts can be a secret. A bearer token, for example, must be fit for a header. */
export interface CredentialRule {
  readonly length_min: number
  readonly pattern?: RegExp
}

/** One provider protocol: everything that the rest of the service needs to know about it. */
export interface ConnectorDefinition<Names extends string = string, Settings extends object = object> {
  readonly capabilities: Capabilities
  readonly poll_schedule: PollSchedule
  /** The environments that its accounts can have. */
  readonly environments: readonly Environment[]
  /** The secrets of an account, which the accounts file gives as `<name>` or `<name>_env`. */
  readonly credentials: Readonly<Record<Names, CredentialRule>>
  /** The schema of an account's `settings` in the accounts file. It must accept only fields that it knows. */
  readonly settings: z.ZodType<Settings>
  /** The settings that say whose account it is at the provider. Another value is another account (P4). Never a secret. */
  readonly account_identity: readonly string[]
  /** Connects an account. Generic in the environment, so it cannot mix what belongs to different ones. */
  connect<E extends Environment>(account: AccountOf<E, Names, Settings>, http: ProviderHttp<E>): ProviderCalls
}

/** Checks the definition of a connector, and infers the names of its credentials and the type of its settings. */
export function defineConnector<Names extends string, Settings extends object>(
  definition: ConnectorDefinition<Names, Settings>,
): ConnectorDefinition<Names, Settings> {
  const { lookups_max, sends_callbacks, idempotency_window_ms } = definition.capabilities
  if (lookups_max < 1 || idempotency_window_ms < 0) throw new TypeError('impossible capabilities')
  if (!sends_callbacks && definition.poll_schedule.max_ms > POLLS_ONLY_MAX_MS)
    throw new TypeError('without callbacks, polls must find a result within minutes')
  return definition
}

/** Customers wait for the result of a payment, and without callbacks nothing but a poll reports it. */
const POLLS_ONLY_MAX_MS = 120_000
