import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { syncDirectory, systemErrorCode, withPath } from '#lib/base/files.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createFile } from './frames.ts'

/** The file of a backup that is written last. A directory without it is not a complete backup. */
export const MANIFEST_FILE = 'manifest.json'
/** Its name while it is written. */
export const MANIFEST_DRAFT = `${MANIFEST_FILE}.draft`
const PRODUCT = 'multihub'
/** The format of backups that this release writes, and the newest that it reads. */
const FORMAT = 1

/** A file of a backup: the documents of one collection, or the blobs with one name. */
const CONTENT = z.strictObject({
  role: z.string(),
  kind: z.enum(['documents', 'blobs']),
  name: z.string(),
  /** Relative to the directory of the backup. */
  file: z.string().regex(/^[a-z0-9_.-]+$/),
  frames: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

const MANIFEST = z.strictObject({
  product: z.literal(PRODUCT),
  format: z.literal(FORMAT),
  /** The version of the release that wrote the backup. */
  version: z.string(),
  system_name: z.string(),
  store: z.enum(['embedded', 'mongodb']),
  consistency: z.enum(['instant', 'ordered']),
  began_at: z.string(),
  ended_at: z.string(),
  /** The public keys of age to which each file is encrypted; none if they are not. */
  recipients: z.array(z.string()).readonly(),
  contents: z.array(CONTENT).readonly(),
})

/** A file of a backup, as the manifest lists it. */
export type BackupContent = Readonly<z.infer<typeof CONTENT>>

/** What a backup holds. It is written last, so a backup without it is not complete. */
export type Manifest = Readonly<z.infer<typeof MANIFEST>>

/**
 * Writes the manifest, signed with the key of the purpose `journal`: it has the SHA-256 of each file, so nobody else can make or
 * change a backup. Its file has its name only when it is whole. The backup is complete and durable when the promise resolves. Calls
 * `onCreated` as `writeFrames` does.
 */
export async function writeManifest(
  directory: string,
  manifest: Omit<Manifest, 'product' | 'format'>,
  signer: Pick<Signer, 'sign'>,
  onCreated?: (path: string) => void,
): Promise<void> {
  const content = { product: PRODUCT, format: FORMAT, ...manifest }
  const text = JSON.stringify({ ...content, signature: signer.sign(signedText(content)) }, undefined, 2)
  const draft = join(directory, MANIFEST_DRAFT)
  const handle = await createFile(draft)
  onCreated?.(draft)
  try {
    await handle.writeFile(`${text}\n`).catch(withPath(draft))
    await handle.sync().catch(withPath(draft))
  } finally {
    await handle.close()
  }
  const path = join(directory, MANIFEST_FILE)
  // Before the rename, so that a failure after it deletes the file too.
  onCreated?.(path)
  await rename(draft, path)
  await syncDirectory(directory)
}

/**
 * Reads a manifest. Throws `Unavailable`, with what to do, when the backup is partial, damaged, newer, not of Multihub, or not
 * signed by this system.
 */
export async function readManifest(directory: string, signer: Pick<Signer, 'verify'>): Promise<Manifest> {
  const text = await readFile(join(directory, MANIFEST_FILE), 'utf8').catch((error: unknown) => {
    if (systemErrorCode(error) !== 'ENOENT') throw error
    throw new Unavailable(
      `${directory} has no ${MANIFEST_FILE}: the backup was not completed; use another one`,
    )
  })
  const { signature, ...content } = parse(text, directory)
  if (content['product'] !== PRODUCT)
    throw new Unavailable(`${directory} is not a backup of Multihub: name another directory`)
  if (Number(content['format']) > FORMAT)
    throw new Unavailable(
      `${directory} was made by the newer release ${content['version']}: restore it with that release`,
    )
  const manifest = MANIFEST.safeParse(content)
  if (!manifest.success || typeof signature !== 'string') throw damaged(directory)
  if (!signer.verify(signedText(content), signature))
    throw new Unavailable(
      `${join(directory, MANIFEST_FILE)} was not signed by this system (${keyIdOfSignature(signature)}): set the keys of the time of the backup, or use another one`,
    )
  return manifest.data
}

function parse(text: string, directory: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return { ...parsed }
  } catch {
    // Reported below.
  }
  throw damaged(directory)
}

function damaged(directory: string): Unavailable {
  return new Unavailable(`${join(directory, MANIFEST_FILE)} is damaged: use another backup`)
}

function signedText(content: object): string {
  return `backup ${JSON.stringify(content)}`
}
