import type { Client } from '@connectrpc/connect'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { openFixture } from '../ledger.fixture.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { createVerifier } from '../verification/verifier.ts'
import { createBalanceRpc } from './balance-service.ts'
import { createLedgerRpc } from './ledger-service.ts'
import { createVerificationRpc } from './verification-service.ts'

/** Clients of the RPC services of a ledger on an embedded store. `caller` is the caller that they act as. */
export interface BalancesRpcs extends AsyncDisposable {
  readonly store: LedgerStore
  balances(caller?: CallerName): Client<typeof BalanceService>
  ledger(caller?: CallerName): Client<typeof LedgerService>
  verification(caller?: CallerName): Client<typeof VerificationService>
}

/** Opens a ledger and serves its RPCs in this process. */
export async function openRpcs(): Promise<BalancesRpcs> {
  const fixture = await openFixture()
  const rpc = await createRpc(readConfig(RPC_SETTINGS, {}))
  const { ledger, store } = fixture
  const verifier = createVerifier(store, trustedClock, 'test', 0)
  rpc.add([
    createBalanceRpc(ledger, store.verifications),
    createLedgerRpc(ledger),
    createVerificationRpc(store, verifier, ledger.refreshStops),
  ])
  return {
    store,
    balances: (caller = 'backoffice') => rpc.clientsOf(caller)(BalanceService),
    ledger: (caller = 'payments') => rpc.clientsOf(caller)(LedgerService),
    verification: (caller = 'backoffice') => rpc.clientsOf(caller)(VerificationService),
    async [Symbol.asyncDispose]() {
      rpc.close()
      await verifier.stop()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

/** The merchant that the tests use. */
export const owner = { merchantId: '1000', environment: Environment.TEST }

/** An Adjust request. */
export const adjustment = (operationId: string, minor: bigint) => ({
  ...owner,
  currency: 'INR',
  amount: { minor, currency: 'INR' },
  reason: 'opening balance',
  operationId,
})

/** A PostTransfer request for a deposit. */
export const transfer = (transferId: string, minor: bigint) => ({
  ...owner,
  transferId,
  debit: LedgerAccount.CLEARING,
  credit: LedgerAccount.AVAILABLE,
  amount: { minor, currency: 'INR' },
  paymentId: 'p',
  reason: 'deposit',
})

/** A PlaceHold request. */
export const holdOf = (holdId: string, minor: bigint) => ({
  ...owner,
  holdId,
  amount: { minor, currency: 'INR' },
  paymentId: 'q',
  reason: 'withdrawal',
})
