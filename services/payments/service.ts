import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { SupportErasureService } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { type Config, describedSetting, optionalSetting, readConfig } from '#lib/base/config/config.ts'
import {
  CREATE_TIMEOUT_SETTING,
  HOST_SETTING,
  portSetting,
  SANDBOX_KEY_SETTING,
  textSetting,
  urlSetting,
} from '#lib/base/config/settings.ts'
import { every } from '#lib/base/time.ts'
import { busLimitations } from '#lib/bus/authentication.ts'
import type { Listening } from '#lib/http/network.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { startRuns } from '#lib/patterns/effects/runs.ts'
import type { OnWritten } from '#lib/patterns/effects/writes.ts'
import { createErasureLog, ERASURES_FILE_SETTING, PERSON_RETENTION_SETTING } from '#lib/patterns/erasures.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { TEST_RETENTION_SETTING } from '#lib/patterns/test-retention.ts'
import { openPublisher, PUBLISHER_SETTINGS } from '#lib/role/open-publisher.ts'
import type { Role, RoleContext } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { log } from '#lib/telemetry/log.ts'
import { startAccountStates } from './account-states.ts'
import { createAccountSelection } from './connectors/account-selection.ts'
import { openConnectors } from './connectors/connect-account.ts'
import { createFindAccount, findAccountOfPayment } from './connectors/find-account.ts'
import type { StoredPayment } from './domain/payment.ts'
import { bindEffects } from './effects/bind-effects.ts'
import { createRestEraser, type ErasureClients } from './effects/erase-person.ts'
import { createMovedAccountCheck } from './effects/moved-account.ts'
import type { ProviderCallDeps } from './effects/provider-call.ts'
import { leaseInstanceNumber } from './lease-instance-number.ts'
import { createProviderCallbackBaseUrl } from './provider-callbacks/provider-callback-base-url.ts'
import { serveProviderCallbacks } from './provider-callbacks/provider-callback-server.ts'
import {
  createProviderCallbackReceiver,
  providerCallbackPath,
} from './provider-callbacks/receive-provider-callback.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createPaymentErasureRpc } from './rpc/payment-erasure-service.ts'
import { createPaymentExplanationRpc } from './rpc/payment-explanation-service.ts'
import { createPaymentReferenceRpc } from './rpc/payment-reference-service.ts'
import { createPaymentRefundRpc } from './rpc/payment-refund-service.ts'
import { createPaymentRpc } from './rpc/payment-service.ts'
import { createProviderAccountRpc } from './rpc/provider-account-service.ts'
import { routeFromProto } from './rpc/route-proto.ts'
import { measureOpenAnomalies } from './store/anomalies.ts'
import { rememberAccounts } from './store/known-accounts.ts'
import { keyOfPayment } from './store/payments.ts'
import { openPaymentsStore, type PaymentsStore } from './store/payments-store.ts'
import { createPaymentCounter } from './use-cases/count-payments.ts'
import { startTestRetentionOfPayments } from './use-cases/end-test-payments.ts'
import { startRetentionWalk } from './use-cases/erase-person.ts'
import { measurePayment } from './use-cases/measure-payments.ts'
import { recordFailureSpans } from './use-cases/record-failure-spans.ts'
import { createRefreshStalePayment } from './use-cases/refresh-stale-payment.ts'

/** The settings of the payments service. */
export const PAYMENTS_CONFIG = {
  host: HOST_SETTING,
  port: describedSetting('The port for callbacks of providers.', portSetting('MULTIHUB_PROVIDER_PORT', 9093)),
  public_url: describedSetting(
    'The URL at which providers reach that port, if it differs from the listening address, such as for 0.0.0.0.',
    optionalSetting(urlSetting('MULTIHUB_PROVIDER_URL')),
  ),
  sandbox_url: describedSetting(
    'The URL of the sandbox, the provider of the test environment.',
    urlSetting('MULTIHUB_SANDBOX_URL', { fallback: 'http://127.0.0.1:9092' }),
  ),
  sandbox_callback_url: describedSetting(
    'The URL at which the sandbox reaches the port for callbacks, if it differs from that for other providers.',
    optionalSetting(urlSetting('MULTIHUB_SANDBOX_CALLBACK_URL')),
  ),
  sandbox_key: optionalSetting(SANDBOX_KEY_SETTING),
  providers_file: describedSetting(
    'The path of a JSON file with provider accounts, read at start.',
    optionalSetting(textSetting('MULTIHUB_PROVIDERS_FILE')),
  ),
  create_timeout_ms: CREATE_TIMEOUT_SETTING,
  ...PUBLISHER_SETTINGS,
  erasures_file: ERASURES_FILE_SETTING,
  retention_ms: PERSON_RETENTION_SETTING,
  test_retention_ms: TEST_RETENTION_SETTING,
}

/** The clients of the other roles that payments call. */
function clientsOf({ clientOf }: Pick<RoleContext, 'clientOf'>) {
  return {
    registry: clientOf(RegistryService),
    ledger: clientOf(LedgerService),
    balances: clientOf(BalanceService),
    notifier: clientOf(DeliveryService),
    support: { refunds: clientOf(RefundService), chargebacks: clientOf(ChargebackService) },
    erasers: { notifier: clientOf(DeliveryErasureService), support: clientOf(SupportErasureService) },
  }
}

const MEASURE_MS = 15_000

function startMeasuring({ anomalies }: Pick<PaymentsStore, 'anomalies'>) {
  return every(
    MEASURE_MS,
    () => measureOpenAnomalies(anomalies),
    (error) => log.debug({ error }, 'anomalies could not be measured'),
  )
}

/** The records of requests and of erasures, and what they are made with. */
function keptBy(
  { clock_guard, keys: { search } }: Pick<RoleContext<'payments'>, 'clock_guard' | 'keys'>,
  { idempotency_records }: Pick<PaymentsStore, 'idempotency_records'>,
  {
    erasures_file,
    test_retention_ms,
  }: Pick<Config<typeof PAYMENTS_CONFIG>, 'erasures_file' | 'test_retention_ms'>,
) {
  const idempotency = createIdempotency(idempotency_records, clock_guard, {
    test_lifetime_ms: test_retention_ms,
  })
  return { idempotency, clock_guard, erasures: createErasureLog(erasures_file, search), search }
}

/** Starts the walks that erase persons and delete what has ended in the test environment. */
function startWalks(
  deps: PaymentsStore & { readonly erasers: ErasureClients } & Parameters<typeof startRetentionWalk>[0],
  { retention_ms, test_retention_ms }: Config<typeof PAYMENTS_CONFIG>,
) {
  const { clock_guard } = deps
  const walks = [
    startRetentionWalk(deps, retention_ms),
    startTestRetentionOfPayments(
      deps,
      { clock_guard, retention_ms: test_retention_ms },
      createRestEraser(deps.anomalies, deps.erasers.notifier),
    ),
  ]
  return {
    async stop() {
      await Promise.all(walks.map((walk) => walk.stop()))
    },
  }
}

/** What follows each write of a payment. */
function onPaymentWritten(counter: ReturnType<typeof createPaymentCounter>): OnWritten<StoredPayment> {
  return (after, before) => {
    counter.onWritten(after, before)
    measurePayment(after, before)
    recordFailureSpans(after, before)
  }
}

const RPCS = [
  createPaymentRpc,
  createPaymentRefundRpc,
  createProviderAccountRpc,
  createPaymentErasureRpc,
  createPaymentExplanationRpc,
  createPaymentReferenceRpc,
]

/** The payments service: deposits and withdrawals from the merchant's request to the ledger entry and the event. */
export const role: Role<'payments'> = {
  name: 'payments',
  settings: PAYMENTS_CONFIG,
  async start(context) {
    const config = readConfig(PAYMENTS_CONFIG, context.variables)
    const acts = keepActs(await context.openStore(), ['reservation_refusals'])
    const store = await openPaymentsStore(acts.store, context.keys)
    const runs = await startRuns(store.runs, context.clock_guard)
    const { registry, ...clients } = clientsOf(context)
    const registry_cache = createRegistryCache({ client: registry, bus: context.bus, role: 'payments' })
    const findRoute = async (service_id: string) => routeFromProto(await registry_cache.route(service_id))
    const publisher = await openPublisher(context, context.keys.event_payments)
    const { accounts, close: disconnect } = openConnectors(config, context)
    const findAccount = createFindAccount(accounts)
    const callbackBaseUrl = createProviderCallbackBaseUrl(config, accounts)
    const numeric_ids = await leaseInstanceNumber(store.instance_number_leases, context.clock_guard)
    let listening_url = ''
    let provider_callback_server: Listening | undefined

    const account_states = await startAccountStates(store.known_accounts)
    const found = { ...findAccountOfPayment(findAccount), account_states }
    const accounts_of_payments = { ...found, isMoved: createMovedAccountCheck({ ...found, ...store }) }
    const provider_calls: ProviderCallDeps = {
      ...accounts_of_payments,
      providerCallbackUrl: (payment) =>
        (callbackBaseUrl(payment.attempt.account_id) ?? listening_url) +
        providerCallbackPath(payment.attempt.account_id, payment),
      create_timeout_ms: config.create_timeout_ms,
      stopping: context.stopping,
      mayAct: runs.mayAct,
    }
    const counter = createPaymentCounter(store.payment_counts)
    const runner = createEffectRunner({
      name: 'payments',
      collection: store.payments,
      clock_guard: context.clock_guard,
      runs,
      keyOf: keyOfPayment,
      onWritten: onPaymentWritten(counter),
      effects: bindEffects({ store, provider_calls, publisher, findRoute, ...clients }),
    })
    const deps = {
      ...store,
      ...createAccountSelection(findAccount, account_states.takesPayments),
      ...accounts_of_payments,
      ...clients,
      runner,
      refreshStale: createRefreshStalePayment(runner),
      counter,
      findRoute,
      accounts,
      findAccount,
      nextNumericId: numeric_ids.next,
      ...keptBy(context, store, config),
    }
    await Promise.all([registry_cache.start(), rememberAccounts(store.known_accounts, accounts)])
    const measuring = startMeasuring(store)
    const walks = startWalks({ ...deps, ...store }, config)
    return {
      services: [...RPCS.map((createRpc) => createRpc(deps)), createActRpc(acts.findAct, store.payments)],
      async open() {
        const { host, port } = config
        const address = { host, port, variable: 'MULTIHUB_PROVIDER_PORT', draining: context.draining }
        provider_callback_server = await serveProviderCallbacks(createProviderCallbackReceiver(deps), address)
        listening_url = `http://${provider_callback_server.host_and_port}`
        runner.start()
        return { provider_url: config.public_url ?? listening_url }
      },
      limitations: () => busLimitations(config.bus_auth),
      async stop() {
        measuring.cancel()
        await walks.stop()
        await provider_callback_server?.close()
        await runner.stop()
        await counter.stop()
        await publisher.close()
        await disconnect()
        await Promise.all([runs, numeric_ids, registry_cache, account_states].map((part) => part.stop()))
      },
    }
  },
}
