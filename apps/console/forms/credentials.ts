import { type Credential, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { METHODS, SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { type Act, act, issuedSecret } from './act.ts'
import { environmentField } from './environments.ts'
import type { FormField } from './fields.ts'

/** What a credential may do. All of it can be changed later. */
const permissions = (merchantId: string): readonly FormField[] => [
  {
    name: 'scopes',
    kind: 'checks',
    choices: SCOPES,
    help: 'For support methods and the resend path. Payments and balances need none.',
  },
  {
    name: 'support_resources',
    kind: 'checks',
    choices: SUPPORT_RESOURCES,
    help: 'Support methods of the others are refused with 1002.',
  },
  {
    name: 'ip_allowlist',
    label: 'Addresses',
    is_rare: true,
    help: 'One per line, such as 203.0.113.7 or 203.0.113.0/24. Empty: any address.',
  },
  {
    name: 'service_ids',
    label: 'Routes',
    is_rare: true,
    propose: async (call) => {
      const { routes } = await call(RouteService.method.listRoutes, { merchantId })
      return routes.map(({ serviceId }) => serviceId)
    },
    help: 'Their ids, one per line. Empty: all routes of the merchant.',
  },
  {
    name: 'currencies',
    is_rare: true,
    help: 'Such as INR, one per line. Empty: all.',
  },
  {
    name: 'daily_limit',
    label: 'Requests per day',
    is_rare: true,
    help: 'Counted from 00:00 UTC. Empty: no limit.',
  },
  {
    name: 'rate_limits',
    label: 'Requests per minute',
    is_rare: true,
    help: 'By method, such as payment.in = 100. Others have the defaults.',
  },
  {
    name: 'disabled_methods',
    label: 'Disabled methods',
    kind: 'checks',
    choices: METHODS,
    is_rare: true,
    help: 'The gateway refuses them with 1002.',
  },
]

/** A new credential of a merchant. */
export const createCredential = act({
  name: 'New credential',
  method: CredentialService.method.createCredential,
  keys: 'n c',
  reason: 'optional',
  effects: () => ['The merchant can send requests with it. Its secret is shown once, after this.'],
  fields: (merchant: Merchant) => [
    environmentField(merchant),
    {
      name: 'api_version',
      label: 'API version',
      help: 'v1 signs the body with SHA-512; v2 signs a canonical payload with HMAC.',
    },
    ...permissions(merchant.merchantId),
  ],
  request: ({ merchantId }) => ({ merchantId }),
  outcome: ({ credential, secret }) =>
    issuedSecret(secret, [`Application ${credential?.applicationId} is ready.`]),
})

function setStatus(name: string, status: CredentialStatus, effect: string): Act<Credential> {
  return act({
    name,
    method: CredentialService.method.updateCredential,
    isOffered: (credential: Credential) => credential.status !== status,
    effects: ({ applicationId }) => [`Application ${applicationId}: ${effect}`],
    request: ({ applicationId }) => ({ applicationId, status }),
  })
}

/** What can be done with a credential. */
export const credential_acts: readonly Act<Credential>[] = [
  act({
    name: 'Edit',
    method: CredentialService.method.updateCredential,
    edits: true,
    effects: ({ applicationId }: Credential) => [
      `What application ${applicationId} may do is changed. Gateways know it within 2 s.`,
    ],
    fields: ({ merchantId }) => permissions(merchantId),
    request: ({ applicationId }) => ({ applicationId }),
  }),
  act({
    name: 'Replace secret',
    method: CredentialService.method.rotateSecret,
    effects: ({ applicationId }: Credential) => [
      `Application ${applicationId} gets a new secret, which is shown once, after this.`,
      'The present secret counts for the time that you choose. Give the new one to the merchant by a safe way.',
    ],
    fields: () => [
      {
        name: 'overlap_seconds',
        label: 'The present secret still counts for',
        initial: '24 h',
        help: 'Such as 30 min, 24 h or 7 d; at most 30 d. 0 ends it at once.',
      },
    ],
    request: ({ applicationId }) => ({ applicationId }),
    outcome: ({ secret }) => issuedSecret(secret),
  }),
  setStatus('Activate', CredentialStatus.ACTIVE, 'its requests are accepted again.'),
  setStatus('Disable', CredentialStatus.DISABLED, 'its requests are refused with 3004.'),
  setStatus('Block', CredentialStatus.BLOCKED, 'its requests are refused with 3005.'),
]
