import { METHODS, RESEND_METHOD } from '#lib/contract/methods.ts'
import type { Operator } from '../../test/support/operator.ts'
import type { FuzzCredential } from './signing.ts'

/** The merchant of the fuzzer with its routes and credentials. */
export interface FuzzMerchant {
  readonly merchant_id: string
  /** A deposit route in INR. */
  readonly service_id: number
  /** The same, but disabled. */
  readonly disabled_service_id: number
  /** Valid credentials. The one of v1 has two secrets, as during a rotation. */
  readonly usable: { readonly v1: FuzzCredential; readonly v2: FuzzCredential }
  /** Credentials whose signatures are valid, but which are refused (except what needs no route, address or scope). */
  readonly refused: readonly FuzzCredential[]
}

/** The highest limit, so that no rate limit hides another result. */
const PER_MINUTE = 1_000_000

const RATE_LIMITS = Object.fromEntries(
  [...METHODS, RESEND_METHOD].filter((name) => name !== 'gateway.ping').map((name) => [name, PER_MINUTE]),
)

const MERCHANTS = 'multihub.merchants.v1'
const TEST = 'ENVIRONMENT_TEST'
const OVERLAP_SECONDS = 86_400

/** Creates the merchant, its routes and its credentials. */
export async function createFuzzMerchant(operator: Operator): Promise<FuzzMerchant> {
  const { merchant } = await operator(`${MERCHANTS}.MerchantService/CreateMerchant`, {
    name: 'fuzz',
    timezone: 'Asia/Kolkata',
    environments: [TEST],
  })
  const { merchantId: merchant_id } = merchant
  const createRoute = async (): Promise<number> => {
    const { route } = await operator(`${MERCHANTS}.RouteService/CreateRoute`, {
      merchantId: merchant_id,
      environment: TEST,
      direction: 'DIRECTION_IN',
      method: 'upi',
      currency: 'INR',
      connector: 'sandbox',
      providerAccounts: ['sandbox'],
    })
    return Number(route.serviceId)
  }
  const create = async (version: 'v1' | 'v2', more: object = {}): Promise<FuzzCredential> => {
    const { credential, secret } = await operator(`${MERCHANTS}.CredentialService/CreateCredential`, {
      merchantId: merchant_id,
      environment: TEST,
      apiVersion: `API_VERSION_${version.toUpperCase()}`,
      scopes: ['webhooks.update'],
      rateLimits: RATE_LIMITS,
      ...more,
    })
    return { application_id: credential.applicationId, version, secrets: [secret] }
  }
  const update = (rpc: string, request: object) => operator(`${MERCHANTS}.${rpc}`, request)

  const service_id = await createRoute()
  const disabled_service_id = await createRoute()
  await update('RouteService/UpdateRoute', { serviceId: String(disabled_service_id), enabled: false })
  const refused = [
    await create('v1', { currencies: ['TRY'] }),
    await create('v1', { ipAllowlist: ['203.0.113.0/24'] }),
    await create('v2', { ipAllowlist: ['2001:db8::/32'] }),
    await create('v2', { scopes: [], disabledMethods: [...METHODS] }),
  ]
  for (const status of ['BLOCKED', 'DISABLED']) {
    const credential = await create(status === 'BLOCKED' ? 'v1' : 'v2')
    const { application_id: applicationId } = credential
    await update('CredentialService/UpdateCredential', {
      applicationId,
      status: `CREDENTIAL_STATUS_${status}`,
    })
    refused.push(credential)
  }
  const v2 = await create('v2')
  const v1 = await create('v1')
  const rotated = await update('CredentialService/RotateSecret', {
    applicationId: v1.application_id,
    overlapSeconds: OVERLAP_SECONDS,
  })
  const usable = { v1: { ...v1, secrets: [rotated.secret, ...v1.secrets] }, v2 }
  return { merchant_id, service_id, disabled_service_id, usable, refused }
}
