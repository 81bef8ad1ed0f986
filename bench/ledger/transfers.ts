import { randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Ledger } from '../../services/balances/ledger.ts'

/** Makes one durable transfer to an account. `id` is new for each. */
export type Transfer = (id: string, account: number) => Promise<void>

/** What a round of transfers came to. */
export interface TransferRate {
  readonly transfers_per_second: number
  /** The processor time of the measured side. */
  readonly cpu_us: number
}

const ROUND_MS = 2_000

/** The id of the merchant that has an account: 16 digits, as real ones. */
export function merchantOf(account: number): string {
  return String(1_000_000_000_000_000 + account)
}

/** The environment and the merchant of an account. */
export type AccountOwner = (account: number) => {
  readonly environment: Environment
  readonly merchant_id: string
}

/** Transfers through the interface of the ledger. */
export function createLedgerTransfer(
  ledger: Ledger,
  ownerOf: AccountOwner = (account) => ({ environment: 'test', merchant_id: merchantOf(account) }),
): Transfer {
  return async (id, account) => {
    const { environment, merchant_id } = ownerOf(account)
    const result = await ledger.submit(environment, {
      kind: 'transfer',
      id: `${id}:credit`,
      merchant_id,
      currency: 'INR',
      debit: 'clearing',
      credit: 'available',
      amount: 100n,
      payment_id: id,
      reason: 'deposit',
    })
    if (!('recorded' in result)) throw new Error('a transfer was not recorded')
  }
}

/** Makes transfers to the accounts in turn for one round, `concurrency` at a time, in this process. */
export async function measureTransfers(
  transfer: Transfer,
  accounts: number,
  concurrency: number,
): Promise<TransferRate> {
  const round = randomHex(4)
  const start_ms = clock.monotonic_ms()
  const start_cpu = process.cpuUsage()
  let count = 0
  const worker = async (): Promise<void> => {
    while (clock.monotonic_ms() - start_ms < ROUND_MS) {
      count += 1
      await transfer(`019aa3c0-0000-7000-8000-${round}${count}`, count % accounts)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const { user, system } = process.cpuUsage(start_cpu)
  const seconds = (clock.monotonic_ms() - start_ms) / 1_000
  return { transfers_per_second: count / seconds, cpu_us: (user + system) / count }
}
