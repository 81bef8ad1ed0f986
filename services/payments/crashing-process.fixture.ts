import { create as createMessage } from '@bufbuild/protobuf'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { type HoldResolution, LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { ErasePersonResponseSchema as NotifierErased } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { ErasePersonResponseSchema as SupportErased } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { createBudget } from '#lib/patterns/effects/budget.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { ErasedSubject, ErasureLog } from '#lib/patterns/erasures.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { lastingRun } from '../../test/support/runs.ts'
import type { AccountsOfPayments, FindAccount } from './connectors/find-account.ts'
import type { CallResult, ProviderSuccess } from './domain/call-result.ts'
import type { StoredPayment } from './domain/payment.ts'
import { bindEffects } from './effects/bind-effects.ts'
import type { ErasureClients } from './effects/erase-person.ts'
import { createMovedAccountCheck } from './effects/moved-account.ts'
import type { LedgerClient } from './effects/post-to-ledger.ts'
import type { SupportClients } from './effects/report-to-support.ts'
import { scriptedConnector } from './effects/scripted-connector.fixture.ts'
import { scriptedBalances } from './effects/scripted-ledger.fixture.ts'
import { newDeposit, WITHDRAWAL_ROUTE } from './payment.fixture.ts'
import { type CrashPoint, createLife, type Step, withSteps } from './process-life.fixture.ts'
import { keyOfPayment } from './store/payments.ts'
import type { PaymentsStore } from './store/payments-store.ts'
import type { CreatePaymentDeps } from './use-cases/create-payment.ts'

/** What a payment comes to. It is a withdrawal unless `direction` says otherwise. */
export interface Scenario {
  readonly direction?: Direction
  /** The code with which the ledger refuses the hold; 0 when it places it. */
  readonly refused_code: 0 | ErrorCode
  /** What each account of the route makes of an order, while the process that crashes runs and after that. */
  readonly accounts: Readonly<Record<string, { readonly at_first: Answer; readonly later: Answer }>>
  /** The account that is at another provider by now, which has none of its operations. */
  readonly moved?: string | undefined
}

/** `down` takes no order. The others take it; `silent` does not answer, and succeeds. */
export type Answer = 'success' | 'declined' | 'silent' | 'down'

/** The other systems, as all processes see them. They count what arrives once, however often it is repeated. */
export interface Outside {
  readonly holds: Map<string, number>
  readonly resolutions: Map<string, HoldResolution>
  /** By account, the idempotency keys of the orders that it took. */
  readonly orders: Map<string, Set<string>>
  /** By event key, the names of the events that arrived. */
  readonly events: Map<string, Set<string>>
  /** By ledger id, the amounts that chargebacks moved, or that they gave back. */
  readonly transfers: Map<string, bigint>
  /** By `<refund_id>:<number>` or chargeback id, the statuses that were reported to the support service. */
  readonly reports: Map<string, Set<string>>
  /** What the notifier, under a payment's id, and support, under its `c_id`, were asked to erase. */
  readonly erased: Set<string>
  /** The ids on the list of erasures. */
  readonly listed: Set<string>
}

/** A payments process whose writes and calls never end after its crash. */
export interface CrashingProcess {
  readonly deps: CreatePaymentDeps
  readonly runner: EffectRunner<StoredPayment>
  /** The accounts, all of which can refund. */
  readonly findAccount: FindAccount
  readonly erasures: ErasureLog
  /** Resolves when the process crashes. */
  readonly crashed: Promise<'crashed'>
}

/** Makes the other systems before anything has arrived. */
export function newOutside(): Outside {
  return {
    holds: new Map(),
    resolutions: new Map(),
    transfers: new Map(),
    orders: new Map(),
    events: new Map(),
    reports: new Map(),
    erased: new Set(),
    listed: new Set(),
  }
}

/** Makes a process over the collections. Without a crash point it runs on. */
export function startCrashingProcess(
  store: PaymentsStore,
  outside: Outside,
  { direction = 'out', refused_code, accounts, moved }: Scenario,
  crash?: CrashPoint,
): CrashingProcess {
  const life = createLife(crash)
  const { step } = life
  const stage = crash ? 'at_first' : 'later'
  const take = (account_id: string, key: string): void => {
    outside.orders.set(account_id, (outside.orders.get(account_id) ?? new Set()).add(key))
  }
  const is_known = (key: string): boolean => [...outside.orders.values()].some((keys) => keys.has(key))
  const connector = scriptedConnector(
    (account_id, { idempotency_key }) =>
      step((): CallResult => {
        const answer = accounts[account_id]?.[stage] ?? 'down'
        if (answer === 'down') return { kind: 'not_sent', reason: 'connection refused' }
        take(account_id, idempotency_key)
        if (answer === 'silent') return { kind: 'unknown', reason: 'no response' }
        return answer === 'success' ? success() : { kind: 'declined', code: 6044, provider_id: 'p-1' }
      }),
    { idempotency_window_ms: Number.POSITIVE_INFINITY },
    (account_id) => ({
      lookUp: async ({ idempotency_key }) => {
        if (!is_known(idempotency_key) || account_id === moved) return { kind: 'not_found' }
        const is_declined = Object.values(accounts).some(({ later }) => later === 'declined')
        return is_declined ? { kind: 'declined', code: 6044, provider_id: 'p-1' } : success()
      },
    }),
  )
  const scripted = connector.deps({ scheduleOf: () => ({ first_ms: 5, max_ms: 5 }) })
  const accountOf: AccountsOfPayments['accountOf'] = (payment) => {
    const account = scripted.accountOf(payment)
    return payment.attempt.account_id === moved ? { ...account, fingerprint: 'another account' } : account
  }
  const provider_calls = { ...scripted, accountOf, isMoved: createMovedAccountCheck({ ...store, accountOf }) }
  const ledger = ledgerOf(outside, refused_code, step)
  const method = direction === 'in' ? 'upi' : WITHDRAWAL_ROUTE.method
  const findRoute = async () => ({
    ...WITHDRAWAL_ROUTE,
    direction,
    method,
    provider_accounts: Object.keys(accounts),
  })
  const payments = withSteps(store.payments, life)
  const stores = { payments, withdrawal_refusals: withSteps(store.withdrawal_refusals, life) }
  const runner = createEffectRunner<StoredPayment>({
    name: 'payments',
    collection: payments,
    clock_guard: trustedClock,
    runs: lastingRun,
    keyOf: keyOfPayment,
    sweep_ms: 10,
    effects: bindEffects({
      store: { ...stores, anomalies: withSteps(store.anomalies, life) },
      provider_calls,
      publisher: {
        budget: createBudget(100),
        publish: (subject, event_key) =>
          step(() => {
            outside.events.set(event_key, (outside.events.get(event_key) ?? new Set()).add(subject))
          }),
        usesBus: () => true,
        close: async () => {},
      },
      ledger,
      findRoute,
      support: supportOf(outside, step),
      erasers: erasersOf(outside, step),
    }),
  })
  const deps: CreatePaymentDeps = {
    ...stores,
    runner,
    findRoute,
    hasAccount: () => true,
    fingerprintOf: provider_calls.fingerprintOf,
    chooseAccounts: (account_ids) => ({ account_ids, giveBack: () => {} }),
    search: testKeys().search,
    balances: scriptedBalances(0n),
    nextNumericId: () => '118432100000420001',
  }
  const findAccount: FindAccount = (account_id) =>
    provider_calls.accountOf(newDeposit({ attempt: { number: 1, account_id, created_at: now() } }))
  const erasures = { append: ({ id }: ErasedSubject) => step(() => void outside.listed.add(id)) }
  return { deps, runner, findAccount, erasures, crashed: life.crashed }
}

/** The other owners of what identifies a person, who keep what they are asked to erase. */
function erasersOf({ erased }: Outside, step: Step): ErasureClients {
  return {
    notifier: {
      erasePerson: ({ resourceId = '' }) =>
        step(() => {
          erased.add(resourceId)
          return createMessage(NotifierErased)
        }),
    },
    support: {
      erasePerson: ({ person }) =>
        step(() => {
          erased.add(String(person?.value))
          return createMessage(SupportErased)
        }),
    },
  }
}

/** A support service that keeps what is reported to it. */
function supportOf({ reports }: Outside, step: Step): SupportClients {
  const keep = (key: string, status: string): void => {
    reports.set(key, (reports.get(key) ?? new Set()).add(status))
  }
  const transport = createRouterTransport(({ service }) => {
    service(RefundService, {
      recordRefundChange: ({ change }) =>
        step(() => {
          keep(`${change?.refundId}:${change?.number}`, REFUND_STATUSES.fromProto(change?.status ?? 0) ?? '')
          return {}
        }),
    })
    service(ChargebackService, {
      recordChargeback: ({ debit }) =>
        step(() => {
          keep(debit?.chargebackId ?? '', 'open')
          return {}
        }),
    })
  })
  return {
    refunds: createClient(RefundService, transport),
    chargebacks: createClient(ChargebackService, transport),
  }
}

function success(): ProviderSuccess {
  const amount = { minor: 150_000n, currency: 'INR' }
  return { kind: 'success', provider_id: 'p-1', amount, completed_at: now() }
}

/** A ledger that gives each id one result permanently, and refuses to resolve a hold in two ways. */
function ledgerOf(outside: Outside, refused_code: number, step: Step): LedgerClient {
  const transport = createRouterTransport(({ service }) =>
    service(LedgerService, {
      placeHold: ({ holdId }) =>
        step(() => {
          outside.holds.set(holdId, refused_code)
          return { entry: { entryId: holdId, refusedCode: refused_code } }
        }),
      postTransfer: ({ transferId, amount }) =>
        step(() => {
          const minor = amount?.minor ?? 0n
          if ((outside.transfers.get(transferId) ?? minor) !== minor) throw new Error('another amount')
          outside.transfers.set(transferId, minor)
          return { entry: { entryId: transferId } }
        }),
      resolveHold: ({ holdId, resolution }) =>
        step(() => {
          const earlier = outside.resolutions.get(holdId) ?? resolution
          if (outside.holds.get(holdId) !== 0 || earlier !== resolution)
            throw new Error('the hold is not open')
          outside.resolutions.set(holdId, resolution)
          return {}
        }),
    }),
  )
  return createClient(LedgerService, transport)
}
