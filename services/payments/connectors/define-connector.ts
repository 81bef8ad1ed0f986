import type { z } from 'zod'
import type { Environment } from '#lib/contract/environment.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import type {
  Capabilities,
  OperationName,
  ProviderCallback,
  ProviderOrder,
  ProviderReport,
} from './connector.ts'
import type { PollSchedule } from './poll-schedule.ts'
import type { AccountOf } from './provider-account.ts'
import type { ProviderHttp } from './provider-http.ts'

/** What a connector implements, see `Connector`. */
export interface ProviderCalls {
  create(order: ProviderOrder, timeout_ms: number, signal?: AbortSignal): Promise<CallResult>
  /** Reads the status of 1 to `lookups_max` operations with one request; the results have the same order. */
  lookUp(
    operations: readonly OperationName[],
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<readonly LookupResult[]>
  /** Only for a provider that sends callbacks. */
  parseCallback?(callback: ProviderCallback): ProviderReport | undefined
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
