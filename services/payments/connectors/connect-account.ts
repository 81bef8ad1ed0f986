import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock, elapsedSince } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import { createSystemResolver } from '#lib/http/resolve-host.ts'
import type { RoleContext } from '#lib/role/role.ts'
import { log } from '#lib/telemetry/log.ts'
import { histogram } from '#lib/telemetry/metrics.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import { paymentIdOf } from '../domain/operation.ts'
import { type CircuitBreaker, createAccountBreaker } from './circuit-breaker.ts'
import type {
  Connector,
  ConnectorDefinition,
  OperationName,
  PollSchedule,
  ProviderCalls,
} from './connector.ts'
import { CONNECTORS } from './connector-table.ts'
import { gatherLookups } from './gather-lookups.ts'
import type { AccountOf, ProviderAccount } from './provider-account.ts'
import { type ProviderAccountSettings, readProviderAccounts } from './provider-accounts.ts'
import { createProviderHttp } from './provider-http.ts'

/** A provider account with its connector, its circuit breaker and the times of its polls. */
export interface ConnectedAccount {
  /** The digest of what makes it this account at its provider, and of no secret (P4). */
  readonly fingerprint: string
  readonly account: ProviderAccount
  readonly connector: Connector
  readonly breaker: CircuitBreaker
  readonly schedule: PollSchedule
}

const call_seconds = histogram(
  'multihub_provider_call_seconds',
  'Duration of calls to providers, by account, operation (create or look_up) and outcome (fault if none).',
  ['provider_account', 'operation', 'outcome'],
)

/** Connects an account to its provider. Throws `TypeError` when no connector has the name that the account gives. */
export function connectAccount(account: ProviderAccount, http: HttpClient): ConnectedAccount {
  const definition = Object.hasOwn(CONNECTORS, account.connector) ? CONNECTORS[account.connector] : undefined
  if (definition === undefined) throw new TypeError(`the connector ${account.connector} does not exist`)
  // The two calls are the same, but each is checked for its own environment.
  const calls =
    account.environment === 'test' ? connect(definition, account, http) : connect(definition, account, http)
  const { capabilities, poll_schedule } = definition
  const breaker = createAccountBreaker(account)
  const lookUp = gatherLookups(calls, capabilities.lookups_max)
  const observed = createObservedCall(account.account_id)
  const connector: Connector = {
    ...capabilities,
    create: (...call) => observed('create', call, () => breaker.observe(() => calls.create(...call))),
    lookUp: (...call) => observed('look_up', call, () => lookUp(...call)),
    parseCallback: (callback) => calls.parseCallback?.(callback),
  }
  const fingerprint = fingerprintOf(account, definition.account_identity)
  return { fingerprint, account, connector, breaker, schedule: poll_schedule }
}

/** The digest of connector, canonical base URL (or what stands for it) and identity. */
function fingerprintOf(
  { connector, base_url, place = base_url, settings }: ProviderAccount,
  account_identity: readonly string[],
): string {
  const values = new Map(Object.entries(settings))
  const identity = account_identity.toSorted().map((name) => [name, values.get(name) ?? null])
  return sha256Hex(JSON.stringify([connector, place, identity])).slice(0, 32)
}

/** Makes the function that measures the calls of one account, and warns of each that failed or has an unknown result. */
function createObservedCall(provider_account: string) {
  return async <R extends CallResult | LookupResult>(
    operation: 'create' | 'look_up',
    [{ idempotency_key }]: readonly [Pick<OperationName, 'idempotency_key'>, ...unknown[]],
    call: () => Promise<R>,
  ): Promise<R> => {
    const began_ms = clock.monotonic_ms()
    let outcome = 'fault'
    try {
      const result = await call()
      outcome = result.kind
      if (result.kind === 'unknown' || result.kind === 'not_sent') {
        const payment_id = paymentIdOf(idempotency_key)
        const duration_ms = elapsedSince(began_ms)
        const { reason } = result
        const fields = { payment_id, provider_account, operation, outcome, reason, duration_ms }
        log.warn(fields, 'a call to a provider failed, or its result is unknown')
      }
      return result
    } finally {
      const labels = { provider_account, operation, outcome }
      call_seconds.observe(labels, (clock.monotonic_ms() - began_ms) / 1_000)
    }
  }
}

function connect<E extends Environment>(
  definition: ConnectorDefinition,
  account: AccountOf<E>,
  http: HttpClient,
): ProviderCalls {
  return definition.connect(account, createProviderHttp(http, account))
}

/**
 * Twice the number of requests that one merchant can have in progress at the gateway, so that slow providers of one
 * merchant leave connections for all others.
 */
const PROVIDER_CONNECTIONS = 5_000

/** Reads the provider accounts and connects them. Throws `ConfigError` when an account is wrong. */
export function openConnectors(
  settings: ProviderAccountSettings,
  { variables, urls }: Pick<RoleContext, 'variables' | 'urls'>,
) {
  const own_sandbox_url = urls?.['sandbox_url']
  const configured = readProviderAccounts({ ...settings, own_sandbox_url }, variables)
  // The operator configures the providers, so their addresses may be private, and the system resolves their names.
  const http = createHttpClient({
    allow: allowAnyAddress,
    connections_per_origin: PROVIDER_CONNECTIONS,
    resolve: createSystemResolver(),
  })
  return {
    accounts: configured.map((account) => connectAccount(account, http)),
    close: () => http.close(),
  }
}
