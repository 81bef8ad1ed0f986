import { StartError } from '#lib/base/start-error.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import type { MerchantsDeps } from './deps.ts'

/** The number of credentials to try: some may be damaged, or encrypted under a master key that was removed on purpose. */
const CREDENTIALS_TRIED = 20

/**
 * Prevents a start with the master keys of another system, with which every request would fail. Throws `StartError`
 * when none of the secrets of up to 20 credentials can be decrypted. Passes when no secret is stored yet.
 */
export async function checkMasterKeys({
  store,
  keyring,
}: Pick<MerchantsDeps, 'store' | 'keyring'>): Promise<void> {
  const credentials = await store.credentials.listChangedSince(new Date(0), CREDENTIALS_TRIED)
  const secrets = credentials.flatMap(({ application_id, secrets }) =>
    secrets.map(({ sealed }) => ({ sealed, owner: ownerOfCredentialSecret(application_id) })),
  )
  const canDecrypt = ({ sealed, owner }: (typeof secrets)[number]): boolean => {
    try {
      return keyring.unseal(sealed, owner) !== undefined
    } catch {
      return false
    }
  }
  if (secrets.length === 0 || secrets.some(canDecrypt)) return
  throw new StartError(
    'none of the stored secrets can be decrypted; set MULTIHUB_MASTER_KEYS to the keys that encrypted them',
  )
}
