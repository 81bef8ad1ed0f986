import type { Environment } from '#lib/contract/environment.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import type { Connector } from './connector.ts'
import { CONNECTORS } from './connector-table.ts'
import type { ConnectorDefinition, ProviderCalls } from './define-connector.ts'
import { gatherLookups } from './gather-lookups.ts'
import type { PollSchedule } from './poll-schedule.ts'
import type { AccountOf, ProviderAccount } from './provider-account.ts'
import { createProviderHttp } from './provider-http.ts'

/** A provider account with its connector and the times of its polls. */
export interface ConnectedAccount {
  readonly account: ProviderAccount
  readonly connector: Connector
  readonly schedule: PollSchedule
}

/** Finds an account by its id; `undefined` when the environment has no such account. */
export type FindAccount = (account_id: string, environment: string) => ConnectedAccount | undefined

/** Connects all accounts, and makes the search for them. */
export function createFindAccount(accounts: readonly ProviderAccount[], http: HttpClient): FindAccount {
  const connected = new Map(accounts.map((account) => [account.account_id, connectAccount(account, http)]))
  return (account_id, environment) => {
    const found = connected.get(account_id)
    // Every search names the environment, so that a test payment never reaches a production account, nor the reverse
    // (spec: What the service does, 7).
    return found?.account.environment === environment ? found : undefined
  }
}

/** Connects an account to its provider. Throws `TypeError` when no connector has the name that the account gives. */
export function connectAccount(account: ProviderAccount, http: HttpClient): ConnectedAccount {
  const definition = Object.hasOwn(CONNECTORS, account.connector) ? CONNECTORS[account.connector] : undefined
  if (definition === undefined) throw new TypeError(`the connector ${account.connector} does not exist`)
  // The two calls are the same, but each is checked for its own environment.
  const calls =
    account.environment === 'test' ? connect(definition, account, http) : connect(definition, account, http)
  const { capabilities, poll_schedule } = definition
  const connector: Connector = {
    ...capabilities,
    create: (order, timeout_ms, signal) => calls.create(order, timeout_ms, signal),
    lookUp: gatherLookups(calls, capabilities.lookups_max),
    parseCallback: (callback) => calls.parseCallback?.(callback),
  }
  return { account, connector, schedule: poll_schedule }
}

function connect<E extends Environment>(
  definition: ConnectorDefinition,
  account: AccountOf<E>,
  http: HttpClient,
): ProviderCalls {
  return definition.connect(account, createProviderHttp(http, account))
}
