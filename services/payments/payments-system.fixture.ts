import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import type { LedgerEntry } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction, HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type CreateRouteRequestSchema, RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { type Anomaly, type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  type CreatePaymentRequest,
  type CreatePaymentRequestSchema,
  PaymentService,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { RECEIPT_SUBJECT_HEADER } from '#lib/bus/authentication.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { ALL_EVENTS_SUBJECT } from '#lib/contract/events.ts'
import { createReceiptSender } from '#lib/patterns/effects/publish-on-bus.ts'
import { openEvent } from '#lib/patterns/sealed-event.ts'
import type { Role } from '#lib/role/role.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startRoles, type TestRoles } from '../../test/support/roles.ts'
import { role as balances } from '../balances/service.ts'
import { role as merchants } from '../merchants/service.ts'
import { role as sandbox } from '../sandbox/service.ts'
import { startProvider, type TestProvider } from './scripted-provider.fixture.ts'
import { role as payments } from './service.ts'

/** The payments service with the services that it calls, and a consumer of events unless the notifier runs too. */
export interface PaymentsSystem extends AsyncDisposable {
  readonly roles: TestRoles
  readonly provider: TestProvider
  readonly merchant_id: string
  /** Creates a deposit on a new route. */
  deposit(amount: bigint, options?: PaymentOptions): Promise<Payment>
  /** Creates a withdrawal on a new route, or on the one of `request.serviceId`. */
  withdraw(amount: bigint, options?: PaymentOptions): Promise<Payment>
  /** Creates a route for withdrawals, and returns its `service_id`. */
  withdrawalRoute(options?: PaymentOptions): Promise<string>
  /** Adds an amount to the available balance in INR. */
  fund(amount: bigint): Promise<unknown>
  /** The balance in INR. */
  balance(): Promise<{ readonly available: bigint; readonly held: bigint }>
  /** Reads the payment. */
  payment(id: string): Promise<Payment>
  /** Waits until the payment has this status. Returns it. */
  waitForStatus(id: string, status: PaymentStatus): Promise<Payment>
  /** The events of a payment, in the order of their transitions. Waits until there are at least `count`. */
  events(payment_id: string, count: number): Promise<readonly MerchantEvent[]>
  /** The ledger entries of a payment. */
  entries(payment_id: string): Promise<readonly LedgerEntry[]>
  anomalies(payment_id: string): Promise<readonly Anomaly[]>
}

/** The options of a payment and its route. */
export interface PaymentOptions {
  readonly c_id?: string
  readonly accounts?: readonly string[]
  readonly expires_in_seconds?: number
  readonly numeric_h_id?: true
  /** Fields that are added to the route or replace its ordinary ones. */
  readonly route?: MessageInitShape<typeof CreateRouteRequestSchema>
  /** Fields that are added to the request or replace its ordinary ones. */
  readonly request?: CreateInit
}

type CreateInit = Exclude<MessageInitShape<typeof CreatePaymentRequestSchema>, CreatePaymentRequest>

/** The key of the account `rival`, which must not report about payments of `acme`. */
export const RIVAL_KEY = 'the-key-of-the-account-of-a-rival-0123456789'

/**
 * How long the sandbox keeps a create without an answer. Then it closes the connection, so that no test depends on the
 * time limit of a create.
 */
const SANDBOX_SILENCE = '1s'

/**
 * Starts the services. `acme` and `rival` are accounts at a provider whose answers the test decides; nothing listens at the
 * addresses of `down-1` and `down-2`. `accounts` are more accounts, as the accounts file has them; `others` are roles that start
 * last.
 */
export async function startPayments({
  notifier,
  accounts = [],
  bus,
  others = [],
  variables = {},
  directory: kept_directory,
}: {
  readonly notifier?: Role
  readonly bus?: Bus
  readonly accounts?: readonly object[]
  readonly others?: readonly Role[]
  readonly variables?: Readonly<Record<string, string>>
  /** The directory of the stores, which is kept; a new one unless given. */
  readonly directory?: string
} = {}): Promise<PaymentsSystem> {
  const provider = await startProvider()
  const directory = await mkdtemp(join(tmpdir(), 'multihub-providers-'))
  const roles = await startRoles(
    [sandbox, merchants, balances, payments, ...(notifier ? [notifier] : []), ...others],
    {
      ...variables,
      MULTIHUB_SANDBOX_PORT: '0',
      MULTIHUB_SANDBOX_KEY: randomHex(32),
      MULTIHUB_SANDBOX_DELAY: '50ms',
      MULTIHUB_SANDBOX_SILENCE: SANDBOX_SILENCE,
      MULTIHUB_PROVIDER_PORT: '0',
      MULTIHUB_PROVIDERS_FILE: await writeProvidersFile(directory, provider, accounts),
      MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8',
    },
    { ...(bus && { bus }), ...(kept_directory !== undefined && { directory: kept_directory }) },
  )
  const published = notifier ? new Map<string, MerchantEvent>() : await consumeEvents(roles)
  const clients = {
    payments: roles.client(PaymentService, 'gateway'),
    operator: roles.client(PaymentService, 'backoffice'),
    routes: roles.client(RouteService, 'backoffice'),
    ledger: roles.client(BalanceService, 'backoffice'),
  }
  const { merchant } = await roles.client(MerchantService, 'backoffice').createMerchant({
    name: 'shop',
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
  })
  const merchantId = merchant?.merchantId ?? ''
  const owner = { merchantId, environment: Environment.TEST }
  const create = createPaymentsOf(clients, merchantId)
  const payment = async (paymentId: string): Promise<Payment> => {
    const { payment: found } = await clients.operator.getPayment({ paymentId, reveal: true })
    return requirePayment(found)
  }
  return {
    roles,
    provider,
    merchant_id: merchantId,
    deposit: (minor, more = {}) => create(Direction.IN, minor, more),
    withdraw: (minor, more = {}) => create(Direction.OUT, minor, more),
    withdrawalRoute: (more = {}) => createRoute(clients.routes, merchantId, Direction.OUT, more),
    ...fundsOf(clients.ledger, owner),
    payment,
    waitForStatus: (id, status) =>
      eventually(
        () => payment(id),
        (seen) => seen?.status === status,
      ),
    async events(payment_id, count) {
      const eventsSoFar = async (): Promise<MerchantEvent[]> =>
        [...published.values()].filter(({ eventKey }) => eventKey.startsWith(payment_id))
      const found = await eventually(eventsSoFar, (seen = []) => seen.length >= count)
      return found.sort((a, b) => transitionsIn(a) - transitionsIn(b))
    },
    entries: async (paymentId) => (await clients.ledger.listEntries({ merchantId, paymentId })).entries,
    async anomalies(payment_id) {
      const { anomalies } = await clients.operator.listAnomalies({ pageSize: 100 })
      return anomalies.filter(({ paymentId }) => paymentId === payment_id)
    },
    async [Symbol.asyncDispose]() {
      await roles[Symbol.asyncDispose]()
      await provider.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

interface Clients {
  readonly payments: Client<typeof PaymentService>
  readonly routes: Client<typeof RouteService>
}

/** Makes the function that creates a payment on a new route, or on the one of `request.serviceId`. */
function createPaymentsOf({ payments, routes }: Clients, merchantId: string) {
  return async (direction: Direction, minor: bigint, more: PaymentOptions): Promise<Payment> => {
    const { payment: created } = await payments.createPayment({
      merchantId,
      environment: Environment.TEST,
      serviceId: more.request?.serviceId ?? (await createRoute(routes, merchantId, direction, more)),
      direction,
      cId: more.c_id ?? randomHex(8),
      amount: { minor, currency: 'INR' },
      ...(direction === Direction.IN
        ? { details: { payer: { email: 'asha@example.com' } } }
        : { beneficiary: BENEFICIARY, payloadHash: 'the hash of its request' }),
      ...more.request,
    })
    return requirePayment(created)
  }
}

/** Changes and reads the balance in INR. */
function fundsOf(
  ledger: Client<typeof BalanceService>,
  owner: { readonly merchantId: string; readonly environment: Environment },
): Pick<PaymentsSystem, 'fund' | 'balance'> {
  return {
    fund: (minor) =>
      ledger.adjust({
        ...owner,
        currency: 'INR',
        amount: { minor, currency: 'INR' },
        reason: 'funds of a test',
        operationId: randomHex(8),
      }),
    async balance() {
      const { balances } = await ledger.getBalances(owner)
      const { available = 0n, held = 0n } = balances.find(({ currency }) => currency === 'INR') ?? {}
      return { available, held }
    },
  }
}

async function writeProvidersFile(
  directory: string,
  provider: TestProvider,
  more: readonly object[],
): Promise<string> {
  const path = join(directory, 'providers.json')
  const account = { connector: 'sandbox', environment: 'test', base_url: provider.url }
  const accounts = [
    { ...account, account_id: 'acme', key: provider.key },
    { ...account, account_id: 'rival', key: RIVAL_KEY },
    ...['down-1', 'down-2'].map((account_id) => ({
      ...account,
      account_id,
      base_url: 'http://127.0.0.1:1',
      key: RIVAL_KEY,
    })),
    ...more,
  ]
  await writeFile(path, JSON.stringify({ accounts }))
  return path
}

/** The recipient of the withdrawals, with an account in India. */
const BENEFICIARY = { accountId: '123456789012', ifsc: 'SBIN0001234' }

/** Creates a route, and returns its `service_id`. */
async function createRoute(
  routes: Client<typeof RouteService>,
  merchantId: string,
  direction: Direction,
  { accounts = ['sandbox'], expires_in_seconds = 0, numeric_h_id, route: changes = {} }: PaymentOptions,
): Promise<string> {
  const { route } = await routes.createRoute({
    merchantId,
    environment: Environment.TEST,
    direction,
    method: direction === Direction.IN ? 'upi' : 'imps',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: [...accounts],
    expiresInSeconds: expires_in_seconds,
    ...(numeric_h_id ? { hIdFormat: HIdFormat.NUMERIC } : {}),
    ...changes,
  })
  return route?.serviceId ?? ''
}

/** Consumes events and sends receipts, as the notifier does. Throws when two events have the same key. */
async function consumeEvents({ bus, keys }: TestRoles): Promise<ReadonlyMap<string, MerchantEvent>> {
  const published = new Map<string, MerchantEvent>()
  const receipts = createReceiptSender(bus, keys.receipt)
  await bus.subscribe(ALL_EVENTS_SUBJECT, ({ data, headers }) => {
    const event = openEvent(data, keys.person)
    const event_key = event.eventKey
    const before = published.get(event_key)
    if (before && before.event !== event.event) throw new Error(`two events have the key ${event_key}`)
    published.set(event_key, event)
    receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', event_key)
  })
  return published
}

/** The number of transitions that the snapshot of an event shows. */
function transitionsIn({ resource }: MerchantEvent): number {
  return resource.case === 'payment' ? resource.value.history.length : 0
}

function requirePayment(payment: Payment | undefined): Payment {
  if (!payment) throw new Error('the response has no payment')
  return payment
}

/** The names of the statuses in the history of a payment. */
export function statusesOf({ history }: Payment): string[] {
  const names = Object.entries(PaymentStatus)
  return history.map(({ status }) => names.find(([, value]) => value === status)?.[0] ?? '')
}
