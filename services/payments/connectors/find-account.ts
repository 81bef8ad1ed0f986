import type { Payment } from '../domain/payment.ts'
import type { ConnectedAccount } from './connect-account.ts'
import { DEFAULT_POLL_SCHEDULE, type PollSchedule } from './connector.ts'

/** Finds an account by its id; `undefined` when the environment has no such account. */
export type FindAccount = (account_id: string, environment: string) => ConnectedAccount | undefined

/** Makes the search for accounts. */
export function createFindAccount(accounts: readonly ConnectedAccount[]): FindAccount {
  const by_id = new Map(accounts.map((connected) => [connected.account.account_id, connected]))
  return (account_id, environment) => {
    const found = by_id.get(account_id)
    // Every search names the environment, so that a test payment never reaches a production account, nor the reverse
    // (spec: What the service does, 7).
    return found?.account.environment === environment ? found : undefined
  }
}

/** What is known of the account of a payment's attempt. */
export type AccountsOfPayments = ReturnType<typeof findAccountOfPayment>

/** Finds the account of a payment's attempt, and what the rest of the service needs to know of it, among all accounts. */
export function findAccountOfPayment(findAccount: FindAccount) {
  const find = ({ attempt, environment }: PaymentAccount): ConnectedAccount | undefined =>
    findAccount(attempt.account_id, environment)
  return {
    /** Throws when the account is no longer configured for the payment's environment. */
    accountOf(payment: PaymentAccount): ConnectedAccount {
      const account = find(payment)
      if (!account)
        throw new Error(`the provider account ${payment.attempt.account_id} is no longer configured`)
      return account
    },
    /** What identifies an account at its provider; empty for one that is not configured. */
    fingerprintOf: (account_id: string, environment: string): string =>
      findAccount(account_id, environment)?.fingerprint ?? '',
    /** When the attempt is polled; a default when its account is no longer configured. */
    scheduleOf: (payment: PaymentAccount): PollSchedule => find(payment)?.schedule ?? DEFAULT_POLL_SCHEDULE,
    /** Whether its provider reports by itself what it decides; true when the account is no longer configured. */
    sendsCallbacks: (payment: PaymentAccount): boolean => find(payment)?.connector.sends_callbacks ?? true,
  }
}

type PaymentAccount = Pick<Payment, 'attempt' | 'environment'>
