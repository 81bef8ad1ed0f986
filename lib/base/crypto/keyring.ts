import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { randomBytes } from './random.ts'
import { Secret } from './secret.ts'

const SALT_BYTES = 24
const TAG_BYTES = 16
/** A key encrypts one text only, so its nonce may be fixed. */
const NONCE = Buffer.alloc(12)
/** A sealed text: the id of the key, a dot, then salt, ciphertext and tag in base64url. */
const SEALED_TEXT = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{54,})$/

/** The keys of one purpose by id, and the id of the one that seals or signs. The others only open or verify (O9). */
export interface KeyList {
  readonly active_id: string
  readonly keys: ReadonlyMap<string, KeyObject>
}

/** Encrypts and decrypts secrets at rest, for one purpose. */
export interface Keyring {
  /** Encrypts with AES-256-GCM under the active key. `unseal` needs the same `owner`. */
  seal(secret: Secret, owner: string): string
  /** Decrypts. Throws when the text was altered, belongs to another owner or purpose, or its key is unknown. */
  unseal(sealed: string, owner: string): Secret
  /** The text for the same secret under the active key: the same text if it is. Throws like `unseal`. */
  reseal(sealed: string, owner: string): string
}

/** The id of the key that encrypted a text; `no key` for a text that was never sealed, of which nothing is shown. */
export function keyIdOf(sealed: string): string {
  return SEALED_TEXT.exec(sealed)?.[1] ?? 'no key'
}

/**
 * Encrypts bytes for an owner with AES-256-GCM: salt, ciphertext and tag. Each has a key of its own, the HMAC of 24 random bytes
 * and the owner: under one key, random nonces of AES-GCM would be safe for only 2^32 texts; two of 2^80 texts share these bytes
 * with a chance of 2^-32.
 */
export function encryptOnce(key: KeyObject, bytes: Uint8Array, owner: string): Buffer {
  const salt = randomBytes(SALT_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOfText(key, salt, owner), NONCE)
  return Buffer.concat([salt, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts what `encryptOnce` has made. Throws when it was altered or belongs to another owner or key. */
export function decryptOnce(key: KeyObject, sealed: Uint8Array, owner: string): Buffer {
  if (sealed.length < SALT_BYTES + TAG_BYTES) throw new TypeError('the bytes are not sealed')
  const tag_at = sealed.length - TAG_BYTES
  const text_key = keyOfText(key, sealed.subarray(0, SALT_BYTES), owner)
  const decipher = createDecipheriv('aes-256-gcm', text_key, NONCE, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(tag_at))
  return Buffer.concat([decipher.update(sealed.subarray(SALT_BYTES, tag_at)), decipher.final()])
}

/** Not bytes: Node.js 24 takes 16 us to begin a cipher with a key of bytes, and 6 us with one that is made of them first. */
function keyOfText(key: KeyObject, salt: Uint8Array, owner: string): KeyObject {
  return createSecretKey(createHmac('sha256', key).update(salt).update(owner).digest())
}

/** The key with this id. Throws for one that is not configured. */
export function configuredKey(keys: KeyList['keys'], id: string): KeyObject {
  const key = keys.get(id)
  if (key === undefined) throw new Error(`the key ${id} is not configured`)
  return key
}

/**
 * Creates the keyring of a purpose. Every sealed text holds the id of its key, so that old texts can still be decrypted when
 * another key is active (A6).
 */
export function createKeyring({ active_id, keys }: KeyList): Keyring {
  const keyring: Keyring = {
    seal(secret, owner) {
      const sealed = encryptOnce(configuredKey(keys, active_id), Buffer.from(secret.reveal()), owner)
      return `${active_id}.${sealed.toString('base64url')}`
    },
    unseal(sealed, owner) {
      const [, id = '', body = ''] = SEALED_TEXT.exec(sealed) ?? []
      // The message shows no part of the text, which may be a secret that was never sealed.
      if (body === '') throw new TypeError('not a sealed text')
      const bytes = Buffer.from(body, 'base64url')
      // The decoder ignores spare bits of the last character, and one text must have one spelling.
      if (bytes.toString('base64url') !== body) throw new TypeError('not a sealed text')
      return new Secret(decryptOnce(configuredKey(keys, id), bytes, owner).toString())
    },
    reseal(sealed, owner) {
      return sealed.startsWith(`${active_id}.`) ? sealed : keyring.seal(keyring.unseal(sealed, owner), owner)
    },
  }
  return keyring
}
