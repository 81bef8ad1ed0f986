import type { Noun } from './noun.ts'

/** `multihub principals`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/backoffice/v1/principal_service_pb.ts')).PrincipalService,
  verbs: [
    {
      name: 'list',
      about: 'list people and programs',
      rpc: 'listPrincipals',
      columns: ['principal_id', 'name', 'status', 'rights', 'kind', 'merchant_id'],
    },
    { name: 'show', about: 'show a person or program', rpc: 'getPrincipal', id: 'principal_id' },
    { name: 'create', about: 'create a person or program; its token is shown once', rpc: 'createPrincipal' },
    { name: 'update', about: 'change a principal', rpc: 'updatePrincipal', id: 'principal_id' },
    { name: 'rotate', about: 'give a principal a new token', rpc: 'rotateToken', id: 'principal_id' },
    {
      name: 'revoke',
      about: 'revoke a principal: its tokens count no more',
      rpc: 'revokePrincipal',
      id: 'principal_id',
      confirms: 'the principal is revoked permanently, with all its tokens',
    },
  ],
}
