import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { clock } from '../time.ts'
import type { KeyList } from './keyring.ts'
import { randomBytes } from './random.ts'

const DAY_MS = 86_400_000
const DAY_BYTES = 2
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Some thousand merchants in a process, each with the keys of a few days. */
const DERIVED_MAX = 10_000

/**
 * Encrypts what identifies a person, under keys of the merchant (O11): one per day, derived by HKDF-SHA-256 from the key of the
 * purpose `person`. Random nonces of AES-GCM are safe for 2^32 texts under one key, which no merchant writes in a day.
 * `place` says where the bytes belong: they cannot be opened in another place or for another merchant.
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
  const derived = new Map<string, KeyObject>()
  const keyOf = (id: string, merchant_id: string, day: number): KeyObject => {
    const name = `${id}/${day}/${merchant_id}`
    const known = derived.get(name)
    if (known !== undefined) return known
    const key = keys.get(id)
    if (key === undefined) throw new Error(`the key ${id} is not configured`)
    const made = createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `${day}/${merchant_id}`, 32)))
    // The oldest goes: whoever needs it again derives it again.
    if (derived.size >= DERIVED_MAX) derived.delete(derived.keys().next().value ?? '')
    derived.set(name, made)
    return made
  }
  const sealer: PersonSealer = {
    seal(bytes, merchant_id, place) {
      const day = Math.floor(clock.now_ms() / DAY_MS)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(active_id, merchant_id, day), nonce)
      cipher.setAAD(Buffer.from(place))
      const id = Buffer.from(active_id)
      const head = Buffer.alloc(1 + id.length + DAY_BYTES)
      head.writeUInt8(id.length)
      id.copy(head, 1)
      head.writeUInt16BE(day, 1 + id.length)
      return Buffer.concat([head, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, merchant_id, place) {
      const parsed = parse(sealed)
      if (parsed === undefined) throw new TypeError('the bytes are not sealed')
      const { id, day, nonce, text, tag } = parsed
      const key = keyOf(id, merchant_id, day)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag)
      return Buffer.concat([decipher.update(text), decipher.final()])
    },
    reseal(sealed, merchant_id, place) {
      if (personKeyIdOf(sealed) === active_id) return sealed
      return sealer.seal(sealer.open(sealed, merchant_id, place), merchant_id, place)
    },
  }
  return sealer
}

/** The parts of sealed bytes: the length of the key's id, the id, the day, the nonce, the encrypted text and its tag. */
function parse(sealed: Uint8Array) {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const day_at = 1 + (bytes[0] ?? 0)
  const nonce_at = day_at + DAY_BYTES
  const text_at = nonce_at + NONCE_BYTES
  const tag_at = bytes.length - TAG_BYTES
  if (day_at === 1 || tag_at < text_at) return undefined
  const id = bytes.toString('utf8', 1, day_at)
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(id)) return undefined
  return {
    id,
    day: bytes.readUInt16BE(day_at),
    nonce: bytes.subarray(nonce_at, text_at),
    text: bytes.subarray(text_at, tag_at),
    tag: bytes.subarray(tag_at),
  }
}
