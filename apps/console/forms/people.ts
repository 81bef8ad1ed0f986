import { type Principal, PrincipalStatus } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { type Act, act, issuedSecret } from './act.ts'
import type { FormField } from './fields.ts'

const RIGHTS = ['read', 'support', 'money', 'admin', 'reveal', 'rotate']

const rights: FormField = {
  name: 'rights',
  kind: 'checks',
  choices: RIGHTS,
  help: 'Each includes read. With a merchant: read, reveal and rotate only.',
}
const expiry: FormField = {
  name: 'expires_at',
  label: 'Tokens count until',
  is_optional: true,
  help: 'In the time of this computer. Empty: without an end.',
}
const LOST_TOKEN = 'Its token was in an answer that did not arrive. Replace the token to get one.'

/** A new principal. */
export const createPrincipal = act({
  name: 'New principal',
  method: PrincipalService.method.createPrincipal,
  keys: 'n p',
  reason: 'optional',
  effects: (_none: undefined) => [
    'A person or a program may call the back office with a token, which is shown once, after this.',
    'With a merchant it sees that merchant only.',
  ],
  fields: () => [
    { name: 'name' },
    { name: 'kind' },
    { ...rights, initial: 'read' },
    { name: 'merchant_id', label: 'Merchant', is_optional: true, help: 'Its id, such as 1001.' },
    expiry,
  ],
  outcome: ({ principal, token }) => ({
    secret: token,
    ...(token === '' && { sentences: [LOST_TOKEN] }),
    address: { path: '/people', search: { open: principal?.principalId ?? '' } },
  }),
})

const isActive = ({ status }: Principal): boolean => status === PrincipalStatus.ACTIVE

/** What can be done with a principal. */
export const principal_acts: readonly Act<Principal>[] = [
  act({
    name: 'Change',
    method: PrincipalService.method.updatePrincipal,
    isOffered: isActive,
    edits: true,
    effects: ({ principalId }: Principal) => [
      `Principal ${principalId} is changed everywhere within 2 s. Kind and merchant stay.`,
    ],
    fields: () => [{ name: 'name' }, rights, expiry],
    request: ({ principalId, expiresAt }, values) => ({
      principalId,
      neverExpires: expiresAt !== undefined && values['expires_at'] === '',
    }),
  }),
  act({
    name: 'Replace token',
    method: PrincipalService.method.rotateToken,
    isOffered: isActive,
    effects: ({ name }: Principal) => [
      `${name} gets a new token, which is shown once, after this.`,
      'The present token counts for the time that you choose; sessions that began with it end then.',
    ],
    fields: () => [
      {
        name: 'overlap_seconds',
        label: 'The present token still counts for',
        initial: '0',
        help: 'Such as 15 min or 24 h, at most 30 d. 0 ends it at once.',
      },
    ],
    request: ({ principalId }) => ({ principalId }),
    outcome: ({ token }) => issuedSecret(token),
  }),
  act({
    name: 'Revoke',
    method: PrincipalService.method.revokePrincipal,
    isOffered: isActive,
    effects: ({ name }: Principal) => [
      `All tokens and sessions of ${name} end within 2 s. They never count again.`,
    ],
    request: ({ principalId }) => ({ principalId }),
    confirm: () => 'revoke',
  }),
]
