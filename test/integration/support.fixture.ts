import { randomUUID } from 'node:crypto'
import type { DescService, MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import {
  type CreateCredentialRequestSchema,
  CredentialService,
} from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { METHODS, SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import type { Role } from '#lib/role/role.ts'
import { role as gateway } from '../../gateway/service.ts'
import { role as attachments } from '../../services/attachments/service.ts'
import { role as backoffice } from '../../services/backoffice/service.ts'
import { role as balances } from '../../services/balances/service.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { role as payments } from '../../services/payments/service.ts'
import { role as sandbox } from '../../services/sandbox/service.ts'
import { role as support } from '../../services/support/service.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { startRoles, type TestRoles } from '../support/roles.ts'
import { PATHS, signV1 } from '../support/sign-request.ts'

type CredentialSettings = Omit<MessageInitShape<typeof CreateCredentialRequestSchema>, '$typeName'>

/** A merchant's program with a v1 credential and a route for deposits in INR. */
export interface SupportClient {
  readonly merchant_id: string
  readonly application_id: string
  readonly service_id: number
  /** Sends a support method. */
  call(method: string, params: object, operation_id?: string): Promise<PublicResponse>
  /** Sends a body as it is. */
  sendBody(body: object): Promise<PublicResponse>
  /** Creates a deposit, which succeeds at once unless its last digits say otherwise; returns its identifiers. */
  deposit(value?: number): Promise<{ readonly c_id: string; readonly h_id: string }>
}

/** All roles in this process, with the real ports of the gateway and the back office. */
export interface SupportSystem extends AsyncDisposable {
  readonly roles: TestRoles
  /** A client with the operator's rights. */
  operator<S extends DescService>(service: S): Client<S>
  /** Creates a merchant with a credential that has all scopes and support methods, unless `settings` say otherwise. */
  newMerchant(settings?: CredentialSettings): Promise<SupportClient>
  /** Creates one more credential of a merchant. */
  newCredential(of: SupportClient, settings?: CredentialSettings): Promise<SupportClient>
}

/** No test of support is about quotas, except those that set their own. */
const NO_QUOTAS = Object.fromEntries(METHODS.map((name) => [name, 1_000_000]))

const ROLES = [sandbox, merchants, balances, notifier, payments, attachments, support, gateway, backoffice]

/**
 * Starts all roles but the back office; support and attachments on the server of `mongodb_uri`, if there is one. `more` adds
 * settings, `others` are roles that start last.
 */
export async function startSupport(
  mongodb_uri?: string,
  more: Readonly<Record<string, string>> = {},
  others: readonly Role[] = [],
): Promise<SupportSystem> {
  const on_server = { roles: ['support', 'attachments'] } as const
  const place = mongodb_uri === undefined ? {} : { mongodb: { ...on_server, uri: mongodb_uri } }
  const variables = {
    MULTIHUB_SANDBOX_PORT: '0',
    MULTIHUB_SANDBOX_KEY: randomHex(32),
    MULTIHUB_SANDBOX_DELAY: '50ms',
    MULTIHUB_PROVIDER_PORT: '0',
    MULTIHUB_HTTP_PORT: '0',
    MULTIHUB_BACKOFFICE_PORT: '0',
    MULTIHUB_ATTACHMENTS_PORT: '0',
    MULTIHUB_SCANNER: 'none',
    MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8',
    ...more,
  }
  const roles = await startRoles([...ROLES, ...others], variables, place)
  const operator: SupportSystem['operator'] = (service) => roles.client(service, 'backoffice')
  const base_url = roles.urls['base_url'] ?? ''
  const environment = Environment.TEST

  async function clientOf(
    merchantId: string,
    service_id: number,
    settings: CredentialSettings,
  ): Promise<SupportClient> {
    const { credential, secret } = await operator(CredentialService).createCredential({
      merchantId,
      environment,
      apiVersion: ApiVersion.V1,
      rateLimits: NO_QUOTAS,
      scopes: [...SCOPES],
      supportResources: [...SUPPORT_RESOURCES],
      ...settings,
    })
    const application_id = credential?.applicationId ?? ''
    const sendBody = (body: object): Promise<PublicResponse> => {
      const text = JSON.stringify(body)
      const headers = signV1({ application_id: Number(application_id), api_version: 'v1', secret }, text)
      return send(base_url, { path: PATHS.v1, headers, body: text })
    }
    return {
      merchant_id: merchantId,
      application_id,
      service_id,
      sendBody,
      call: (method, params, operation_id) => sendBody({ method, operation_id, params }),
      async deposit(value = 1_000_908) {
        const identifiers = { c_id: randomUUID() }
        const payment = { identifiers, amount: { value, currency: 'INR' }, payer: {} }
        const { body } = await sendBody({ method: 'payment.in', service_id, params: { payment } })
        return body.result.payment.identifiers
      },
    }
  }

  return {
    roles,
    operator,
    async newMerchant(settings = {}) {
      const named = { name: 'shop', timezone: 'Asia/Kolkata', environments: [environment] }
      const { merchant } = await operator(MerchantService).createMerchant(named)
      const merchantId = merchant?.merchantId ?? ''
      const { route } = await operator(RouteService).createRoute({
        merchantId,
        environment,
        direction: Direction.IN,
        method: 'upi',
        currency: 'INR',
        connector: 'sandbox',
        providerAccounts: ['sandbox'],
      })
      return clientOf(merchantId, Number(route?.serviceId), settings)
    },
    newCredential: (of, settings = {}) => clientOf(of.merchant_id, of.service_id, settings),
    [Symbol.asyncDispose]: () => roles[Symbol.asyncDispose](),
  }
}
