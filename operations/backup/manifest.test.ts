import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { readManifest, writeManifest } from './manifest.ts'

const SIGNER = testKeys().journal
const CONTENT = {
  role: 'balances',
  kind: 'documents',
  name: 'journal',
  file: 'balances.journal.documents',
  frames: 1,
  bytes: 10,
  sha256: 'a'.repeat(64),
} as const
const MANIFEST = {
  version: '1.0.0',
  system_name: 'multihub',
  store: 'embedded',
  consistency: 'instant',
  began_at: '2026-11-29T00:00:00.000Z',
  ended_at: '2026-11-29T00:00:01.000Z',
  recipients: [],
  contents: [CONTENT],
} as const

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-manifest-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

// O9
test('is read as it was written, and refused when anything in it was changed after it was signed', async () => {
  await writeManifest(directory, MANIFEST, SIGNER)
  expect(await readManifest(directory, SIGNER)).toMatchObject(MANIFEST)
  const path = join(directory, 'manifest.json')
  const text = await readFile(path, 'utf8')
  for (const [from, to] of [
    ['a'.repeat(64), 'b'.repeat(64)],
    ['"frames": 1', '"frames": 2'],
    ['"consistency": "instant"', '"consistency": "ordered"'],
  ] as const) {
    await writeFile(path, text.replace(from, to))
    await expect(readManifest(directory, SIGNER)).rejects.toThrow('was not signed by this system')
  }
})

test('has its name only when it is whole and durable, so that a killed command leaves none', async () => {
  const handle = await open(directory, 'r')
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const names: string[][] = []
  const spy = jest.spyOn(prototype, 'sync').mockImplementation(async () => {
    names.push(await readdir(directory))
  })
  try {
    await writeManifest(directory, MANIFEST, SIGNER)
  } finally {
    spy.mockRestore()
  }
  expect(names).toEqual([['manifest.json.draft'], ['manifest.json']])
})
