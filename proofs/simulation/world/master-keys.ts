import { createKeys, deriveKey, type Keys, PURPOSES, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import { personKeyIdOf } from '#lib/base/crypto/person-seal.ts'

/** The master key of all processes, and its successor, by their ids. */
export const MASTER_KEYS = {
  old: `old:${'5a'.repeat(32)}`,
  new: `new:${'a5'.repeat(32)}`,
} as const

/** What the old key has signed in the ledger and in the audit trail is verified after its removal too. */
const KEPT = new Map(
  (['journal', 'audit'] as const).map((purpose) => [
    purpose,
    new Map(Array.from(parseMasterKeys(MASTER_KEYS.old), ([id, key]) => [id, deriveKey(key, purpose)])),
  ]),
)

const { person } = createKeys(
  {
    master_keys: parseMasterKeys(Object.values(MASTER_KEYS).join(',')),
    derived_keys: new Map(),
    active_id: 'old',
  },
  ['person'],
)

/**
 * The text of the callback of a stored event, for the judge. Throws when it was sealed for another event. The judge of real
 * processes has it from the receiver, in clear.
 */
export function openedBody({
  merchant_id,
  event_key,
  body,
}: {
  readonly merchant_id: string
  readonly event_key: string
  readonly body: Uint8Array
}): string {
  const is_sealed = personKeyIdOf(body) !== 'no key'
  return Buffer.from(is_sealed ? person.open(body, merchant_id, `body:${event_key}`) : body).toString()
}

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
        derived_keys: KEPT,
        active_id: master_keys.active,
      }
      return createKeys(given, PURPOSES)
    },
  }
  return master_keys
}
