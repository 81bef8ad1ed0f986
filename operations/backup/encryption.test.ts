import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { generateHybridIdentity, generateIdentity, identityToRecipient } from 'age-encryption'
import { decryptWith, encryptTo, unchanged } from './encryption.ts'
import { readFrames, writeFrames } from './frames.ts'
import { checkContent } from './restore.ts'

const FILE = 'x.items.documents.age'
const PLANTED = 'zelda.quixworth@planted.example.org'
const DECLARATIONS = {
  collections: [{ name: 'items', partition: ['id'], key: ['id'], indexes: {} }],
  blobs: [],
}

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-encryption-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Makes a key pair with its identity in a file, as `age-keygen` writes it. */
async function keyPair(generate = generateIdentity) {
  const identity = await generate()
  const recipient = await identityToRecipient(identity)
  const file = join(directory, `${recipient.slice(0, 20)}.txt`)
  await writeFile(file, `# public key: ${recipient}\n\n${identity}\n`)
  return { recipient, file }
}

/** More than several blocks, with frames that begin and end anywhere in them. */
const FRAMES = Array.from({ length: 200 }, (_, at) =>
  Buffer.from(`${at} ${PLANTED} `.repeat((at * at) % 1_000)),
)

async function* framesOf(frames: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* frames
}

async function written(recipients: readonly string[], frames = FRAMES) {
  const file = await writeFrames(join(directory, FILE), framesOf(frames), await encryptTo(recipients))
  return { role: 'x', kind: 'documents', name: 'items', file: FILE, ...file } as const
}

async function read(identity_file: string | undefined, recipients: readonly string[]): Promise<Buffer[]> {
  const frames: Buffer[] = []
  const decrypt = await decryptWith(identity_file, recipients)
  for await (const frame of readFrames(join(directory, FILE), decrypt)) frames.push(frame)
  return frames
}

describe('a file that is encrypted to public keys', () => {
  test.each([
    ['X25519', generateIdentity],
    ['post-quantum', generateHybridIdentity],
  ])('comes back with each of their identities (%s), and shows nothing', async (_kind, generate) => {
    const [first, second] = [await keyPair(generate), await keyPair()]
    const recipients = [first.recipient]
    const content = await written(recipients)
    expect(content.frames).toBe(FRAMES.length)
    expect((await readFile(join(directory, FILE))).includes(PLANTED)).toBe(false)
    const frames = await read(first.file, recipients)
    expect(frames.every((frame, at) => FRAMES[at]?.equals(frame))).toBe(true)
    await rm(join(directory, FILE))
    await written([first.recipient, second.recipient], [])
    for (const { file } of [first, second]) expect(await read(file, recipients)).toEqual([])
  })

  test('is written while it is read: what waits in memory is bounded', async () => {
    const { recipient } = await keyPair()
    let given = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given += 1
        yield Buffer.alloc(64 * 1024)
      }
    }
    const encrypt = await encryptTo([recipient])
    const reader = encrypt(endless())[Symbol.asyncIterator]()
    for (let block = 0; block < 20; block += 1) await reader.next()
    await reader.return?.()
    expect(given).toBeLessThan(30)
  })

  test('is not opened without its identity, or with another one', async () => {
    const { recipient } = await keyPair()
    const other = await keyPair()
    const content = await written([recipient])
    const encrypted_to = `the backup is encrypted to ${recipient}`
    await expect(decryptWith(undefined, [recipient])).rejects.toThrow(
      `${encrypted_to}: name the file with its identity by --identity FILE`,
    )
    await expect(decryptWith(join(directory, 'none'), [recipient])).rejects.toThrow('cannot be read (ENOENT)')
    const decrypt = await decryptWith(other.file, [recipient])
    await expect(checkContent({ directory, decrypt }, content, DECLARATIONS)).rejects.toThrow(
      `no identity in ${other.file} opens the backup: ${encrypted_to}`,
    )
    await writeFile(other.file, '# nothing\n')
    await expect(decryptWith(other.file, [recipient])).rejects.toThrow('has no identity of age')
    await writeFile(other.file, `${recipient}\n`)
    await expect(decryptWith(other.file, [recipient])).rejects.toThrow('a line that is no identity of age')
  })

  test('is checked without an identity, and is refused when it is cut or altered', async () => {
    const { recipient, file } = await keyPair()
    const content = await written([recipient])
    const path = join(directory, FILE)
    const bytes = await readFile(path)
    const check = () => checkContent({ directory, decrypt: unchanged }, content, DECLARATIONS)
    await check()
    for (const at of [0, 100, bytes.length >> 1, bytes.length - 1]) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ 1
      await writeFile(path, altered)
      await expect(check()).rejects.toThrow('is damaged: use another backup')
      // Also when it is changed after the check.
      await expect(read(file, [recipient])).rejects.toThrow(/opens the backup|has changed since/)
    }
    await writeFile(path, bytes)
    // At the end of a chunk of age, and within one.
    for (const length of [bytes.length - 1, bytes.length - (bytes.length % 1_000), 216 + 65_552]) {
      await truncate(path, length)
      await expect(check()).rejects.toThrow('is damaged: use another backup')
      await expect(read(file, [recipient])).rejects.toThrow('has changed since')
    }
  })

  test('needs a public key of age', async () => {
    for (const recipient of ['age1', 'AGE-SECRET-KEY-1', 'ssh-ed25519 AAAA', ''])
      await expect(encryptTo([recipient])).rejects.toThrow('--recipient takes a public key of age')
    expect(await encryptTo([])).toBe(unchanged)
  })
})
