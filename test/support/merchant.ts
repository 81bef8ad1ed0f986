import { randomUUID } from 'node:crypto'
import type { Agent } from 'node:http'
import { eventually } from './eventually.ts'
import { type PublicResponse, send } from './public-client.ts'
import { type DemoCredential, PATHS, signResend, signV1 } from './sign-request.ts'

/** A route in demo.json. */
export interface DemoRoute {
  readonly service_id: number
  readonly purpose: string
  readonly direction: 'in' | 'out'
  readonly method: string
  readonly currency: string
}

/** A merchant in demo.json. */
export interface DemoMerchant {
  readonly name: string
  readonly merchant_id: string
  readonly credentials: readonly DemoCredential[]
  readonly routes: readonly DemoRoute[]
}

/** demo.json (R3). */
export interface Demo {
  readonly base_url: string
  readonly grpc_url: string
  readonly connect_url: string
  readonly backoffice_url: string
  readonly reference_url: string
  readonly health_url: string
  readonly sandbox_url: string
  readonly provider_url: string
  readonly operator: { readonly token: string }
  readonly merchants: readonly DemoMerchant[]
}

/** A client of one merchant, which signs and sends v1 requests. */
export interface MerchantClient {
  readonly merchant: DemoMerchant
  readonly credential: DemoCredential
  route(wanted: Partial<DemoRoute>): number
  call(body: object): Promise<PublicResponse>
  /** Creates a deposit of `value` minor units, by default with UPI in INR. */
  deposit(value: number, more?: PaymentOptions): Promise<CreateResponse>
  /** Creates a withdrawal of `value` minor units, by default with IMPS in INR, to a valid account of its currency. */
  withdraw(value: number, more?: WithdrawalOptions): Promise<CreateResponse>
  status(c_id: string): Promise<PublicResponse>
  /** Waits until the payment is final, and returns it as `payment.status` shows it. */
  finalPayment(c_id: string): Promise<PublicResponse['body']>
  /** Requests a callback with the present status of a payment (`payment.notification`). */
  notify(identifiers: object, operation_id?: string): Promise<PublicResponse>
  /** Requests the callback of a payment's final status on the resend path. */
  resend(payment_id: string, operation_id: string): Promise<PublicResponse>
  /** The available balance in a currency. */
  available(currency?: string): Promise<number>
  /** The balance in a currency, as `balance.get` shows it. */
  balance(currency?: string): Promise<{ readonly value: number; readonly value_freezing: number }>
}

/** The response to a create, and the reference of its payment. */
export type CreateResponse = PublicResponse & { readonly c_id: string }

/** The options of a payment. */
export interface PaymentOptions {
  readonly c_id?: string
  readonly route?: Partial<DemoRoute>
  readonly webhook_url?: string
}

/** The options of a withdrawal. `bank` replaces the account of the recipient. */
export interface WithdrawalOptions extends PaymentOptions {
  readonly bank?: object
}

/** A valid bank account of a recipient, by the currency of its route (P12). */
const BANKS: Readonly<Record<string, object>> = {
  INR: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' },
  MXN: { account: { id: '032180000118359719' } },
  ARS: { account: { id: '2850590940090418135201' }, code: '285' },
  TRY: { account: { id: 'TR330006100519786457841326' } },
  AUD: { account: { id: '12345678' }, code: '062000' },
  LKR: { account: { id: '1234567890' } },
}

/**
 * Makes the client of a demonstration merchant. `demo` is called for every request, because a restart can change the
 * ports. Without an `agent` all clients share one, with any number of connections.
 */
export function merchantClient(
  demo: () => Demo,
  name: 'alpha' | 'beta' = 'alpha',
  agent?: Agent,
): MerchantClient {
  const merchant = demo().merchants.find((one) => one.name === name)
  const credential = merchant?.credentials.find(({ api_version }) => api_version === 'v1')
  if (!merchant || !credential) throw new Error(`demo.json has no v1 credential of ${name}`)
  const find = (wanted: Partial<DemoRoute>): DemoRoute => {
    const all = { purpose: 'normal', direction: 'in', method: 'upi', currency: 'INR', ...wanted }
    const route = merchant.routes.find((one) =>
      Object.entries(all).every(([key, value]) => one[key as keyof DemoRoute] === value),
    )
    if (!route) throw new Error(`no route like ${JSON.stringify(all)}`)
    return route
  }
  const call = (body: object): Promise<PublicResponse> =>
    sendV1(demo().base_url, credential, JSON.stringify(body), agent)
  const status: MerchantClient['status'] = (c_id) =>
    call({ method: 'payment.status', params: { payment: { identifiers: { c_id } } } })
  const balance = async (currency = 'INR') => {
    // 2002 says nothing about the balance: a service did not respond in time.
    const { body } = await eventually(
      () => call({ method: 'balance.get', params: {} }),
      (response) => response?.body.error?.code !== 2002,
    )
    return body.result.balance.amounts.find((amount: { currency: string }) => amount.currency === currency)
  }
  return {
    merchant,
    credential,
    route: (wanted) => find(wanted).service_id,
    call,
    async deposit(value, { c_id = randomUUID(), route = {}, webhook_url } = {}) {
      const { service_id, currency } = find(route)
      const payment = {
        identifiers: { c_id },
        amount: { value, currency },
        payer: { email: 'customer@example.com', person: { first_name: 'Asha' } },
        ...(webhook_url ? { webhook_url } : {}),
      }
      return { c_id, ...(await call({ method: 'payment.in', service_id, params: { payment } })) }
    },
    async withdraw(value, { c_id = randomUUID(), route = {}, webhook_url, bank } = {}) {
      const { service_id, currency } = find({ direction: 'out', method: 'imps', ...route })
      const payment = {
        identifiers: { c_id },
        amount: { value, currency },
        receiver: { bank: bank ?? BANKS[currency], person: { first_name: 'Asha' } },
        ...(webhook_url ? { webhook_url } : {}),
      }
      return { c_id, ...(await call({ method: 'payment.out', service_id, params: { payment } })) }
    },
    status,
    finalPayment: (c_id) =>
      eventually(
        async () => {
          const { body } = await status(c_id)
          // 2002 says nothing about the payment: the store did not respond in time.
          return body.error?.code === 2002 ? undefined : body.result.payment
        },
        (payment) => payment?.status.final,
      ),
    notify: (identifiers, operation_id) =>
      call({ method: 'payment.notification', operation_id, params: { payment: { identifiers } } }),
    resend(payment_id, operation_id) {
      const path = PATHS.resend(payment_id)
      const body = JSON.stringify({ payment_id, operation_id })
      return send(demo().base_url, { path, headers: signResend(credential, path, body), body }, agent)
    },
    available: async (currency) => (await balance(currency)).value,
    balance,
  }
}

/** Sends a body with a v1 signature. */
function sendV1(
  base_url: string,
  credential: DemoCredential,
  text: string,
  agent: Agent | undefined,
): Promise<PublicResponse> {
  return send(base_url, { path: PATHS.v1, headers: signV1(credential, text), body: text }, agent)
}
