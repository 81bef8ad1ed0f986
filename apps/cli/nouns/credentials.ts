import type { Noun } from './noun.ts'

/** `multihub credentials`. */
export const noun: Noun = {
  service: async () =>
    (await import('#gen/multihub/merchants/v1/credential_service_pb.ts')).CredentialService,
  verbs: [
    {
      name: 'list',
      about: 'list the credentials of a merchant',
      rpc: 'listCredentials',
      columns: [
        'application_id',
        'merchant_id',
        'environment',
        'api_version',
        'status',
        'secret_create_time',
        'scopes',
      ],
    },
    {
      name: 'show',
      about: 'show a credential without its secret',
      rpc: 'getCredential',
      id: 'application_id',
    },
    { name: 'create', about: 'create a credential; its secret is shown once', rpc: 'createCredential' },
    {
      name: 'update',
      about: 'change, disable or block a credential',
      rpc: 'updateCredential',
      id: 'application_id',
    },
    {
      name: 'rotate',
      about: 'give a credential a new secret; both are valid for the overlap',
      rpc: 'rotateSecret',
      id: 'application_id',
    },
  ],
}
