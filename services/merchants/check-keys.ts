import { StartError } from '#lib/platform/process/start-error.ts'
import type { Registry } from './use-cases/registry.ts'

/** So many credentials are tried: one may be damaged, or lie under a key that was taken away on purpose. */
const SAMPLE = 20

/**
 * Ends the start when none of the stored secrets that it tries can be opened: the process was given the master keys of
 * another system, and every request would fail for a reason that only the log knows. Throws `StartError`.
 */
export async function checkMasterKeys({
  store,
  keyring,
}: Pick<Registry, 'store' | 'keyring'>): Promise<void> {
  const sample = await store.credentials.changedSince(new Date(0), SAMPLE)
  const sealed = sample.flatMap(({ application_id, secrets }) =>
    secrets.map((secret) => ({ text: secret.sealed, bound_to: `credential:${application_id}` })),
  )
  const opens = ({ text, bound_to }: (typeof sealed)[number]): boolean => {
    try {
      return keyring.open(text, bound_to) !== undefined
    } catch {
      return false
    }
  }
  if (sealed.length === 0 || sealed.some(opens)) return
  throw new StartError(
    'MULTIHUB_MASTER_KEYS opens none of the stored secrets: give the keys that they were sealed under.',
  )
}
