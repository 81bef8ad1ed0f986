import type { Connector } from './connector.ts'
import type { ConnectorName, ProviderAccount, ProviderAccounts } from './provider-accounts.ts'

/** When a provider that has not decided is polled for the first time, and how often after that. */
export interface PollSchedule {
  readonly first_ms: number
  readonly every_ms: number
}

/** A provider account with the connector for its protocol. */
export interface ConnectedAccount {
  readonly account: ProviderAccount
  readonly connector: Connector
  readonly poll: PollSchedule
}

/** Finds an account by its id; `undefined` when the environment has no such account. */
export type FindAccount = (account_id: string, environment: string) => ConnectedAccount | undefined

const POLL_SCHEDULES: Readonly<Record<ConnectorName, PollSchedule>> = {
  sandbox: { first_ms: 2_000, every_ms: 2_000 },
  http: { first_ms: 60_000, every_ms: 300_000 },
}

/** Connects each configured account to its connector. */
export function connectAccounts(accounts: ProviderAccounts, connector: Connector): FindAccount {
  return (account_id, environment) => {
    const account = accounts.get(account_id, environment)
    return account && { account, connector, poll: POLL_SCHEDULES[account.connector] }
  }
}
