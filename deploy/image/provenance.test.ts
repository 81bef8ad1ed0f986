import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Envelope, listFiles, problemsOf, signProvenance } from './provenance.ts'

let root: string
let keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'multihub-provenance-'))
  for (const folder of ['app/lib', 'nodejs/bin', 'cache']) mkdirSync(join(root, folder), { recursive: true })
  for (const file of ['app/main.ts', 'app/lib/money.ts', 'app/sbom.cdx.json', 'nodejs/bin/node', 'cache/1'])
    writeFileSync(join(root, file), file)
  symlinkSync('main.ts', join(root, 'app/link'))
  keys = generateKeyPairSync('ed25519')
})
afterEach(() => rmSync(root, { recursive: true }))

const facts = { commit: 'c'.repeat(40), image: `registry.example/multihub@sha256:${'d'.repeat(64)}` }
const signed = (): Envelope => signProvenance(root, facts, keys.privateKey)

test('names every file with its mode and content, and neither the cache nor a time', () => {
  const before = listFiles(root)
  expect(before.map((line) => line.split(' ').at(-1))).toEqual(
    expect.arrayContaining([
      'app/lib/money.ts',
      'app/link',
      'app/main.ts',
      'app/sbom.cdx.json',
      'nodejs/bin/node',
    ]),
  )
  expect(before).toHaveLength(5)
  writeFileSync(join(root, 'cache/1'), 'another')
  utimesSync(join(root, 'app/main.ts'), 1, 1)
  expect(listFiles(root)).toEqual(before)
})

test('what was signed has no problem', () => {
  expect(problemsOf(root, signed(), keys.publicKey)).toEqual([])
})

test.each<[string, () => void]>([
  ['a changed file', () => writeFileSync(join(root, 'app/lib/money.ts'), 'changed')],
  ['a further file', () => writeFileSync(join(root, 'app/lib/further.ts'), '')],
  ['a missing file', () => rmSync(join(root, 'nodejs/bin/node'))],
  ['a setuid bit', () => chmodSync(join(root, 'nodejs/bin/node'), 0o4644)],
  ['another mode', () => chmodSync(join(root, 'app/main.ts'), 0o777)],
  [
    'another link',
    () => {
      rmSync(join(root, 'app/link'))
      symlinkSync('lib', join(root, 'app/link'))
    },
  ],
])('%s is a problem', (_, change) => {
  const envelope = signed()
  change()
  expect(problemsOf(root, envelope, keys.publicKey)).toEqual(['files: the statement is about other content'])
})

test('another bill of materials, another key, and a changed statement are problems', () => {
  const envelope = signed()
  expect(problemsOf(root, envelope, generateKeyPairSync('ed25519').publicKey)).toHaveLength(1)
  const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString())
  statement.predicate.buildDefinition.externalParameters.commit = 'e'.repeat(40)
  const payload = Buffer.from(JSON.stringify(statement)).toString('base64')
  expect(problemsOf(root, { ...envelope, payload }, keys.publicKey)).toHaveLength(1)
  expect(problemsOf(root, { ...envelope, payloadType: 'text/plain' }, keys.publicKey)).toHaveLength(1)
  writeFileSync(join(root, 'app/sbom.cdx.json'), 'another')
  expect(problemsOf(root, envelope, keys.publicKey)).toHaveLength(2)
})

test('the statement names the commit, the image, the bill of materials and the lock files', () => {
  const statement = JSON.parse(Buffer.from(signed().payload, 'base64').toString())
  expect(statement).toMatchObject({
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [
      { name: 'files' },
      { name: 'app/sbom.cdx.json' },
      { name: 'registry.example/multihub', digest: { sha256: 'd'.repeat(64) } },
    ],
    predicate: { buildDefinition: { externalParameters: { commit: facts.commit } } },
  })
  const { resolvedDependencies } = statement.predicate.buildDefinition
  expect(resolvedDependencies.map(({ name }: { readonly name: string }) => name)).toContain(
    'package-lock.json',
  )
})

test('the script signs with a key of openssl, and verifies with its public part', () => {
  const script = join(import.meta.dirname, 'provenance.ts')
  const [private_pem, public_pem, statement] = ['key.pem', 'public.pem', 'provenance.json'].map((name) =>
    join(root, name),
  )
  if (!private_pem || !public_pem || !statement) throw new TypeError('three files are needed')
  writeFileSync(private_pem, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(public_pem, keys.publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(statement, execFileSync(process.execPath, [script, 'sign', root, '--key', private_pem]))
  const check = () =>
    spawnSync(process.execPath, [script, 'verify', root, '--key', public_pem, statement], {
      encoding: 'utf8',
    })
  expect(check()).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('these files are what was signed'),
  })
  writeFileSync(join(root, 'app/main.ts'), 'changed')
  expect(check()).toMatchObject({ status: 1, stderr: 'files: the statement is about other content\n' })
})
