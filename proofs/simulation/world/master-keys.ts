import { createKeys, deriveKey, type Keys, PURPOSES, parseMasterKeys } from '#lib/base/crypto/keys.ts'

/** The master key of all processes, and its successor, by their ids. */
export const MASTER_KEYS = {
  old: `old:${'5a'.repeat(32)}`,
  new: `new:${'a5'.repeat(32)}`,
} as const

/** What the old key has signed in the ledger is verified after its removal too. */
const KEPT = new Map(
  Array.from(parseMasterKeys(MASTER_KEYS.old), ([id, key]) => [id, deriveKey(key, 'journal')]),
)

type KeyId = keyof typeof MASTER_KEYS

/** The master keys that processes get. */
export interface MasterKeys {
  present: readonly KeyId[]
  active: KeyId
  /** Whether all stored secrets were encrypted again under the new one. */
  is_replaced: boolean
  keys(): Keys
}

/** Makes the master keys of one simulation: the old one. */
export function createMasterKeys(): MasterKeys {
  const master_keys: MasterKeys = {
    present: ['old'],
    active: 'old',
    is_replaced: false,
    keys() {
      const text = master_keys.present.map((id) => MASTER_KEYS[id]).join(',')
      const given = {
        master_keys: parseMasterKeys(text),
        derived_keys: new Map([['journal', KEPT] as const]),
        active_id: master_keys.active,
      }
      return createKeys(given, PURPOSES)
    },
  }
  return master_keys
}
