import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { DirectoryService } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { Direction, HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { createDirectory, type RouteEntry } from '#lib/patterns/directory/directory.ts'
import { createPublisher } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { type Config, described, optional, readConfig } from '#lib/platform/config/config.ts'
import { duration, port, secret, text, url } from '#lib/platform/config/fields.ts'
import { allowAnyAddress } from '#lib/platform/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/platform/http/client.ts'
import type { Listening } from '#lib/platform/process/listen.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { createHttpConnector } from './connectors/http-connector.ts'
import { type ProviderAccount, readProviderAccounts } from './connectors/provider-account.ts'
import { ledgerCreditKind, publishEventKind } from './effects/after-effects.ts'
import type { ConnectedAccount } from './effects/provider.ts'
import { providerKinds } from './effects/provider.ts'
import { anomalyKind } from './effects/record-anomaly.ts'
import { leaseNumericIds } from './numeric-id-lease.ts'
import { callbackPath, receiveCallback } from './provider-callbacks/receive-callback.ts'
import { serveCallbacks } from './provider-callbacks/server.ts'
import { paymentRpc } from './rpc/payment-service.ts'
import { keyOfPayment, openPaymentsStore } from './store/payments-store.ts'
import type { PaymentRoute } from './use-cases/create-payment.ts'

/** The settings of the payments service. */
export const PAYMENTS_CONFIG = {
  host: text('MULTIHUB_HOST', '127.0.0.1'),
  port: described('Where providers’ callbacks are taken.', port('MULTIHUB_PROVIDER_PORT', 9093)),
  public_url: described(
    'Where providers reach that port, when it is not the address that it listens on.',
    optional(url('MULTIHUB_PROVIDER_URL')),
  ),
  sandbox_url: described(
    'Where the test environment’s provider is.',
    url('MULTIHUB_SANDBOX_URL', { fallback: 'http://127.0.0.1:9092' }),
  ),
  sandbox_key: described(
    'What payments and the sandbox share: whoever holds it is the other.',
    optional(secret('MULTIHUB_SANDBOX_KEY')),
  ),
  providers_file: described(
    'A JSON file of provider accounts, read at start.',
    optional(text('MULTIHUB_PROVIDERS_FILE')),
  ),
  create_timeout_ms: described(
    'How long a provider is given to answer a create.',
    duration('MULTIHUB_CREATE_TIMEOUT', { min: 100, max: 60_000, fallback: 30_000 }),
  ),
}

/**
 * Twice what one merchant can have under way at the gateway: whose payments a provider answers slowly, or never, takes
 * no connection from anybody else's.
 */
const PROVIDER_CONNECTIONS = 5_000
const SANDBOX_POLL = { first_ms: 2_000, every_ms: 2_000 }
const PROVIDER_POLL = { first_ms: 60_000, every_ms: 300_000 }

/** Payments: deposits from the merchant's request to the ledger entry and the event. */
export const role: Role = {
  name: 'payments',
  settings: PAYMENTS_CONFIG,
  async start(context) {
    const config = readConfig(PAYMENTS_CONFIG, context.environment)
    const store = await openPaymentsStore(await context.openStore())
    const directory = createDirectory({
      client: context.client(DirectoryService),
      bus: context.bus,
      role: 'payments',
    })
    const publisher = await createPublisher(context.bus)
    // Providers are the operator's own choice, in the configuration: their addresses may be private.
    const http = createHttpClient({ allow: allowAnyAddress, connections_per_host: PROVIDER_CONNECTIONS })
    const accountOf = await connectAccounts(config, context.environment, http)
    const numeric_ids = await leaseNumericIds(store.instances)
    let callback_url = config.public_url ?? ''
    let callbacks: Listening | undefined

    const runner = createEffectRunner({
      collection: store.payments,
      keyOf: keyOfPayment,
      handlers: {
        ...providerKinds({
          connected({ attempt: { account_id }, environment }) {
            const found = accountOf(account_id, environment)
            if (!found) throw new Error(`the provider account ${account_id} is not configured any more`)
            return found
          },
          callbackUrl: (payment) => callback_url + callbackPath(payment.attempt.account_id, payment),
          create_timeout_ms: config.create_timeout_ms,
          stopping: context.stopping,
        }),
        ledger_credit: ledgerCreditKind(context.client(LedgerService)),
        publish_event: publishEventKind(publisher),
        record_anomaly: anomalyKind(store.anomalies),
      },
    })
    await directory.start()
    const parts = {
      payments: store.payments,
      runner,
      route: async (service_id: string) => toRoute(await directory.route(service_id)),
      hasAccount: (account_id: string, environment: string, connector: string) =>
        accountOf(account_id, environment)?.account.connector === connector,
      nextNumericId: numeric_ids.next,
    }
    const notify = {
      payments: store.payments,
      idempotency: createIdempotency(store.operations),
      notifier: context.client(DeliveryService),
    }
    return {
      services: [paymentRpc(store, parts, notify)],
      async open() {
        const address = { host: config.host, port: config.port, variable: 'MULTIHUB_PROVIDER_PORT' }
        const received = { payments: store.payments, runner, findAccount: accountOf }
        callbacks = await serveCallbacks((callback) => receiveCallback(received, callback), address)
        callback_url = config.public_url ?? `http://${callbacks.authority}`
        runner.start()
        return { provider_url: callback_url }
      },
      async stop() {
        await callbacks?.close()
        await runner.stop()
        await publisher.close()
        await http.close()
        await numeric_ids.stop()
        await directory.stop()
      },
    }
  },
}

/** The accounts of the configuration. None is ever given for another environment than its own. */
async function connectAccounts(
  config: Config<typeof PAYMENTS_CONFIG>,
  environment: Readonly<Record<string, string | undefined>>,
  http: HttpClient,
): Promise<(account_id: string, environment: string) => ConnectedAccount | undefined> {
  const sandbox = config.sandbox_key && { base_url: config.sandbox_url, key: config.sandbox_key }
  const sources = { sandbox, providers_file: config.providers_file }
  const accounts = await readProviderAccounts(sources, environment)
  const connector = createHttpConnector(http)
  const connect = (account: ProviderAccount): ConnectedAccount => {
    const poll = account.connector === 'sandbox' ? SANDBOX_POLL : PROVIDER_POLL
    return { account, connector, poll }
  }
  const connected = new Map(accounts.list().map((account) => [account.account_id, connect(account)]))
  return (account_id, environment) => {
    const found = connected.get(account_id)
    return found?.account.environment === environment ? found : undefined
  }
}

function toRoute(entry: RouteEntry | undefined): PaymentRoute | undefined {
  const route = entry?.route
  const environment = route && ENVIRONMENTS.fromProto(route.environment)
  if (!route || !environment) return undefined
  return {
    service_id: route.serviceId,
    merchant_id: route.merchantId,
    environment,
    direction: route.direction === Direction.OUT ? 'out' : 'in',
    method: route.method,
    currency: route.currency,
    connector: route.connector,
    provider_accounts: route.providerAccounts,
    numeric_h_id: route.hIdFormat === HIdFormat.NUMERIC,
    expires_in_seconds: route.expiresInSeconds,
    minimum_amount: route.minimumAmount,
    enabled: route.enabled,
  }
}
