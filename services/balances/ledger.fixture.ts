import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { readCheckpoint, type StoredCheckpoint } from './checkpoints/checkpoint.ts'
import {
  type Command,
  type HoldCommand,
  resolutionId,
  type SettleCommand,
  settlementId,
  type TransferCommand,
} from './domain/command.ts'
import { BATCH_FORMATS } from './domain/hash-chain.ts'
import type { PayoutLimits } from './domain/payout-limits.ts'
import { createLedger, type Ledger } from './ledger.ts'
import type { Journal } from './store/journal.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'

/** The key that signs the ledgers of tests. */
export const ledger_signer = testKeys().journal

/** The formats of a release that writes the next format, which this one does not read. */
export const NEXT_FORMATS = {
  written: BATCH_FORMATS.read_max + 1,
  read_max: BATCH_FORMATS.read_max + 1,
} as const

/** A ledger on its own embedded store, for tests. */
export interface LedgerFixture extends AsyncDisposable {
  readonly store: LedgerStore
  readonly ledger: Ledger
  readonly opened: Store
}

/** Opens a ledger on an embedded store in a new directory. Disposing of it deletes the directory. */
export async function openFixture(wrap = (store: LedgerStore): LedgerStore => store): Promise<LedgerFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-ledger-'))
  const opened = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const store = wrap(await openLedgerStore(opened, ledger_signer))
  const ledger = createLedger(store, trustedClock)
  return {
    store,
    ledger,
    opened,
    async [Symbol.asyncDispose]() {
      await ledger.stop()
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The store with some methods of its journal replaced. */
export function withJournal(store: LedgerStore, journal: Partial<Journal>): LedgerStore {
  return { ...store, journal: { ...store.journal, ...journal } }
}

/** The checkpoint of a shard, which must be sound. */
export async function soundCheckpoint(
  store: LedgerStore,
  shard: number,
): Promise<StoredCheckpoint & { status: 'sound' }> {
  const checkpoint = await readCheckpoint(store, shard)
  if (checkpoint?.status !== 'sound') throw new Error('there is no sound checkpoint')
  return checkpoint
}

/** The credit of a deposit. */
export function credit(id: string, amount: bigint, merchant_id = '1000', currency = 'INR'): TransferCommand {
  return {
    kind: 'transfer',
    id,
    merchant_id,
    currency,
    debit: 'clearing',
    credit: 'available',
    amount,
    reason: 'deposit',
  }
}

/** The hold of a withdrawal without limits. */
export function hold(id: string, amount: bigint, merchant_id = '1000', currency = 'INR'): HoldCommand {
  return {
    kind: 'hold',
    id,
    merchant_id,
    currency,
    amount,
    payment_id: `payment of ${id}`,
    reason: 'withdrawal',
  }
}

/** The hold of a withdrawal of route 7 in UTC with the limits that are given. */
export function withdrawal(
  id: string,
  amount: bigint,
  limits: Partial<PayoutLimits> = {},
  merchant_id = '1000',
): HoldCommand {
  const unlimited = { maximum: 0n, daily: 0n, monthly: 0n, since_settlement: 0n }
  return {
    ...hold(id, amount, merchant_id),
    limits: { service_id: 7, timezone: 'UTC', ...unlimited, ...limits },
  }
}

/** A settlement of the merchant 1000. */
export function settle(operation_id: string, currency = 'INR', merchant_id = '1000'): SettleCommand {
  const id = settlementId(merchant_id, operation_id)
  return { kind: 'settlement', id, merchant_id, operation_id, currency, reason: 'month end' }
}

/** The capture or release of a hold. */
export function resolve(kind: 'capture' | 'release', hold_id: string, merchant_id = '1000'): Command {
  return { kind, id: resolutionId(hold_id), merchant_id, hold_id, reason: 'withdrawal' }
}
