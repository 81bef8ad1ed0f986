import { createKeyring, type Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'

/** The master key of all processes, and its successor. */
export const MASTER_KEYS = {
  old: `simulation:${'5a'.repeat(32)}`,
  new: `replaced:${'a5'.repeat(32)}`,
} as const

/** The master keys that processes get. */
export interface MasterKeys {
  /** Which ones, the newest first. */
  present: 'old' | 'old, new' | 'new, old' | 'new'
  /** Whether all stored secrets were encrypted again under the new one. */
  is_replaced: boolean
  keyring(): Keyring
}

/** Makes the master keys of one simulation: the old one. */
export function createMasterKeys(): MasterKeys {
  const keys: MasterKeys = {
    present: 'old',
    is_replaced: false,
    keyring() {
      const texts = keys.present.split(', ').map((name) => MASTER_KEYS[name as keyof typeof MASTER_KEYS])
      return createKeyring(new Secret(texts.join(',')))
    },
  }
  return keys
}
