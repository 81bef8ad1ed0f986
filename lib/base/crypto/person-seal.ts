import { configuredKey, decryptOnce, encryptOnce, type KeyList } from './keyring.ts'

/**
 * Encrypts what identifies a person (O11). Like each text of a keyring, each has a key of its own, which follows from the key of the
 * purpose `person`, the merchant and the place. `place` says where the bytes belong: they cannot be opened in another place or for
 * another merchant.
 */
export interface PersonSealer {
  /** Encrypts under the active key. */
  seal(bytes: Uint8Array, merchant_id: string, place: string): Uint8Array
  /** Decrypts. Throws when the bytes were altered, belong elsewhere, or their key is not configured. */
  open(sealed: Uint8Array, merchant_id: string, place: string): Uint8Array
  /** The same bytes under the active key: the same object if they are. Throws like `open`. */
  reseal(sealed: Uint8Array, merchant_id: string, place: string): Uint8Array
}

/** The id of the key of sealed bytes; `no key` for bytes that were never sealed. */
export function personKeyIdOf(sealed: Uint8Array): string {
  return parse(sealed)?.id ?? 'no key'
}

/** Creates the sealer from the keys of the purpose `person`. */
export function createPersonSealer({ active_id, keys }: KeyList): PersonSealer {
  const head = Buffer.from([active_id.length, ...Buffer.from(active_id)])
  const ownerOf = (merchant_id: string, place: string): string => `${merchant_id}/${place}`
  const sealer: PersonSealer = {
    seal(bytes, merchant_id, place) {
      const key = configuredKey(keys, active_id)
      return Buffer.concat([head, encryptOnce(key, bytes, ownerOf(merchant_id, place))])
    },
    open(sealed, merchant_id, place) {
      const parsed = parse(sealed)
      if (parsed === undefined) throw new TypeError('the bytes are not sealed')
      return decryptOnce(configuredKey(keys, parsed.id), parsed.body, ownerOf(merchant_id, place))
    },
    reseal(sealed, merchant_id, place) {
      if (personKeyIdOf(sealed) === active_id) return sealed
      return sealer.seal(sealer.open(sealed, merchant_id, place), merchant_id, place)
    },
  }
  return sealer
}

/** The parts of sealed bytes: the length of the key's id, the id, and what `encryptOnce` has made. */
function parse(sealed: Uint8Array): { readonly id: string; readonly body: Uint8Array } | undefined {
  const body_at = 1 + (sealed[0] ?? 0)
  const id = Buffer.from(sealed.subarray(1, body_at)).toString()
  return /^[A-Za-z0-9_-]{1,32}$/.test(id) ? { id, body: sealed.subarray(body_at) } : undefined
}
