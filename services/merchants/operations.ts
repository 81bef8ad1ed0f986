import { keyIdOf } from '#lib/base/crypto/keyring.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { StartError } from '#lib/base/start-error.ts'
import { now } from '#lib/base/time.ts'
import { ownerOfCredentialSecret, ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import {
  type DataCheck,
  type ReadDocuments,
  type Reseal,
  type RoleOperations,
  resealDocuments,
} from '#lib/role/operations.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { Credential } from './domain/credential.ts'
import type { Endpoint } from './domain/endpoint.ts'
import { ID_KINDS, type IssuedIds } from './store/issued-ids.ts'
import { type MerchantsStore, openMerchantsStore } from './store/merchants-store.ts'

/** What the commands of an installation need of the registry. */
export const operations: RoleOperations = {
  name: 'merchants',
  openCollections: openMerchantsStore,
  afterRestore: async (store) => skipIssuedIds((await openMerchantsStore(store)).issued_ids),
  checkSigner: checkKeyIds,
  checkKeys: async (store, keys) => checkMasterKeys(await openMerchantsStore(store), keys),
  async *reseal(store, readDocuments, keys) {
    const { credentials, endpoints } = await openMerchantsStore(store)
    const deps = { readDocuments, keys }
    yield await resealDocuments<Credential>(deps, {
      spec: credentials.spec,
      change: resealCredential,
      update: (credential, decide) =>
        credentials.update(credentials.idOf(credential), (current) => decide(current) ?? current),
    })
    yield await resealDocuments<Endpoint>(deps, {
      spec: endpoints.spec,
      change: resealEndpoint,
      update: (endpoint, decide) =>
        endpoints.update(endpoints.idOf(endpoint), (current) => decide(current) ?? current),
    })
  },
  checkData: async (store) => createDataCheck(await openMerchantsStore(store)),
}

/** The number of credentials to try: some may be damaged, or encrypted under a master key that was removed on purpose. */
const CREDENTIALS_TRIED = 20

/**
 * Prevents a start with the master keys of another system, with which every request would fail. Throws `StartError`
 * when none of the secrets of up to 20 credentials can be decrypted. Passes when no secret is stored yet.
 */
export async function checkMasterKeys(
  store: Pick<MerchantsStore, 'credentials'>,
  keys: Keys<'credential'>,
): Promise<void> {
  const credentials = await store.credentials.listChangedSince(new Date(0), CREDENTIALS_TRIED)
  const secrets = credentials.flatMap(({ application_id, secrets }) =>
    secrets.map(({ sealed }) => ({ sealed, owner: ownerOfCredentialSecret(application_id) })),
  )
  const canDecrypt = ({ sealed, owner }: (typeof secrets)[number]): boolean => {
    try {
      return keys.credential.unseal(sealed, owner) !== undefined
    } catch {
      return false
    }
  }
  if (secrets.length === 0 || secrets.some(canDecrypt)) return
  throw new StartError('none of the stored secrets can be decrypted; provide the keys that encrypted them')
}

/** What reading all credentials needs of their declaration. */
const CREDENTIALS: CollectionSpec = {
  name: 'credentials',
  partition: ['application_id'],
  key: ['application_id'],
}

/**
 * Throws `StartError` when none of the keys has the id of a key that encrypted a secret: `reseal` has moved all secrets to a later
 * master key, and what the former key signs, the later key alone cannot verify. Passes when no secret is stored yet. The ids of the
 * keys of all purposes are the ids of the master keys (O9).
 */
async function checkKeyIds(readDocuments: ReadDocuments, signer: Signer): Promise<void> {
  const given = signer.signWithEach('').map(keyIdOfSignature)
  const stored = new Set<string>()
  for await (const { secrets } of readDocuments<Credential>(CREDENTIALS))
    for (const { sealed } of secrets) stored.add(keyIdOf(sealed))
  if (stored.size === 0 || given.some((id) => stored.has(id))) return
  throw new StartError(
    `no stored secret is encrypted under the given key ${given.join(' or ')}, which reseal has replaced: set the key with the id ${[...stored].join(' or ')} too, and name it in MULTIHUB_ACTIVE_KEY`,
  )
}

/** Far above the number of merchants, credentials or routes that are created between two backups. */
const SKIPPED = 1_000n

/**
 * Leaves out the next 1,000 ids of each kind after a restore. The ids that were issued after the backup are not in it, but
 * merchants may hold them, so they must not be issued again to others.
 */
export async function skipIssuedIds(issued_ids: Pick<IssuedIds, 'skip'>): Promise<void> {
  for (const kind of ID_KINDS) await issued_ids.skip(kind, SKIPPED)
}

/** Secrets that have expired are left out: the key that encrypted them may be gone. */
function resealCredential(credential: Credential, reseal: Reseal): Credential {
  const owner = ownerOfCredentialSecret(credential.application_id)
  const secrets = credential.secrets
    .filter(({ expires_at }) => expires_at === undefined || expires_at > now())
    .map((secret) => ({ ...secret, sealed: reseal('credential', secret.sealed, owner) }))
  const is_same =
    secrets.length === credential.secrets.length &&
    secrets.every(({ sealed }, at) => sealed === credential.secrets[at]?.sealed)
  return is_same ? credential : { ...credential, secrets }
}

function resealEndpoint(endpoint: Endpoint, reseal: Reseal): Endpoint {
  const { sealed_secret: before, endpoint_id } = endpoint
  if (before === undefined) return endpoint
  const sealed_secret = reseal('endpoint', before, ownerOfEndpointSecret(endpoint_id))
  return sealed_secret === before ? endpoint : { ...endpoint, sealed_secret }
}

/** The clocks of two processes differ by less: one wrote the endpoint, the other the time of the event. */
const CLOCK_MARGIN_MS = 15_000

/** Says which events endpoints must have got, for the check of what other roles have stored. */
function createDataCheck({ endpoints }: Pick<MerchantsStore, 'endpoints'>): DataCheck {
  // Calls come merchant by merchant.
  let last: { readonly merchant_id: string; readonly listed: Promise<readonly Endpoint[]> } | undefined
  return {
    async subscribes({ merchant_id, environment, event, at }) {
      if (last?.merchant_id !== merchant_id)
        last = { merchant_id, listed: endpoints.listByMerchant(merchant_id) }
      const unchanged_since_ms = at.getTime() - CLOCK_MARGIN_MS
      return (await last.listed).some(
        (endpoint) =>
          endpoint.environment === environment &&
          endpoint.enabled &&
          endpoint.events.some((name) => name === event) &&
          endpoint.updated_at.getTime() < unchanged_since_ms,
      )
    },
  }
}
