import { readFile } from 'node:fs/promises'
import { systemErrorCode } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** Changes the blocks of a file, one after the other, as they are written or read. */
export type ChangeBlocks = (blocks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/** Leaves blocks as they are: the files of a backup without recipients. */
export const unchanged: ChangeBlocks = (blocks) => blocks

// It is loaded when a backup is encrypted: processes that serve do not need it.
const loadAge = () => import('age-encryption')

/**
 * Encrypts each file to these public keys in the format of age; without any, files stay as they are. Throws `StartError` for
 * what is no public key of age.
 */
export async function encryptTo(recipients: readonly string[]): Promise<ChangeBlocks> {
  if (recipients.length === 0) return unchanged
  const { Encrypter } = await loadAge()
  const encrypter = new Encrypter()
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      // Without the text: it may be an identity.
      throw new StartError('--recipient takes a public key of age, which begins with age1, or none')
    }
  }
  return async function* encrypt(blocks) {
    yield* await encrypter.encrypt(ReadableStream.from(blocks))
  }
}

/**
 * Decrypts the files of a backup that was encrypted to `recipients`, with the identities of a file of age. Throws `StartError`,
 * here or at the first block, when the file is missing, has no identity, or has none of the backup's.
 */
export async function decryptWith(
  identity_file: string | undefined,
  recipients: readonly string[],
): Promise<ChangeBlocks> {
  if (recipients.length === 0) return unchanged
  const encrypted_to = `the backup is encrypted to ${recipients.join(', ')}`
  if (identity_file === undefined)
    throw new StartError(`${encrypted_to}: name the file with its identity by --identity FILE`)
  const { Decrypter } = await loadAge()
  const decrypter = new Decrypter()
  for (const identity of await readIdentities(identity_file)) {
    try {
      decrypter.addIdentity(identity)
    } catch {
      throw new StartError(`${identity_file} has a line that is no identity of age: ${encrypted_to}`)
    }
  }
  return async function* decrypt(blocks) {
    const opened = await decrypter.decrypt(ReadableStream.from(blocks)).catch((cause: unknown) => {
      throw new StartError(`no identity in ${identity_file} opens the backup: ${encrypted_to}`, { cause })
    })
    try {
      yield* opened
    } catch (cause) {
      throw new Unavailable(
        'a file of the backup has changed since it was checked: repeat, or use another backup',
        { cause },
      )
    }
  }
}

/** The identities of a file, one a line; lines with `#` are comments. */
async function readIdentities(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`the identity ${path} cannot be read (${systemErrorCode(error)})`)
  })
  const lines = text.split('\n').map((line) => line.trim())
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (identities.length === 0) throw new StartError(`${path} has no identity of age`)
  return identities
}
