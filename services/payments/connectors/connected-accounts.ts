import type { Connector } from './connector.ts'
import type { ConnectorName, ProviderAccount, ProviderAccounts } from './provider-accounts.ts'

/** When a provider that has not decided is polled for the first time, and how often after that. */
export interface PollSchedule {
  readonly first_ms: number
  readonly every_ms: number
}

/** A provider account with the connector for its protocol and the times of its polls. */
export interface ConnectedAccount {
  readonly account: ProviderAccount
  readonly connector: Connector
  readonly schedule: PollSchedule
}

/** Finds an account by its id; `undefined` when the environment has no such account. */
export type FindAccount = (account_id: string, environment: string) => ConnectedAccount | undefined

const POLL_SCHEDULES: Readonly<Record<ConnectorName, PollSchedule>> = {
  sandbox: { first_ms: 2_000, every_ms: 2_000 },
  http: { first_ms: 60_000, every_ms: 300_000 },
}

/**
 * Makes the search for accounts. `account.connector` chooses the connector and the poll schedule, and must equal the
 * connector of the route that names the account.
 */
export function createFindAccount(
  accounts: ProviderAccounts,
  connectors: Readonly<Record<ConnectorName, Connector>>,
): FindAccount {
  return (account_id, environment) => {
    const account = accounts.get(account_id, environment)
    if (account === undefined) return undefined
    const { connector } = account
    return { account, connector: connectors[connector], schedule: POLL_SCHEDULES[connector] }
  }
}
