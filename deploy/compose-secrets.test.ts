import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { randomHex } from '#lib/base/crypto/random.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-compose-'))
  // What a killed run has left.
  mkdirSync(join(folder, '.local/compose.part/multihub-keys'), { recursive: true })
  writeFileSync(join(folder, '.local/compose.part/multihub-keys/left'), 'a key')
  makeSecrets(['compose'])
})
afterAll(() => rmSync(folder, { recursive: true }))

const makeSecrets = (words: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
  execFileSync(resolve('deploy/make-secrets.sh'), words, {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: 'pipe',
  })
/** All files of the secrets, with their content. */
function secretFiles(): Readonly<Record<string, string>> {
  const names = readdirSync(join(folder, '.local'), { recursive: true, withFileTypes: true })
  const paths = names.filter((name) => name.isFile()).map((name) => join(name.parentPath, name.name))
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')]))
}

test('a second run keeps the secrets of the first one, which has nothing of a killed run', () => {
  const before = secretFiles()
  expect(() => makeSecrets(['compose'])).toThrow(/is there already/)
  expect(secretFiles()).toEqual(before)
  expect(Object.keys(before).filter((path) => path.includes('.part') || path.endsWith('left'))).toEqual([])
})

// O9
test('new keys replace those of all roles, keep the former ones beside them, and change nothing else', () => {
  const before = secretFiles()
  const former = readFileSync(join(folder, '.local/compose/multihub-master/master-keys'), 'utf8')
  const master_keys = `${former},new:${randomHex(32)}`
  makeSecrets(['keys', 'compose'], { MULTIHUB_MASTER_KEYS: master_keys, MULTIHUB_ACTIVE_KEY: 'new' })
  const after = secretFiles()
  expect(Object.keys(after)).toEqual(Object.keys(before))
  for (const [path, content] of Object.entries(after)) {
    const [kind, name] = path.split('/').slice(-2)
    const old = before[path] ?? ''
    if (kind === 'multihub-master') expect(content).toBe(master_keys)
    else if (name === 'settings') expect(content).toBe(old.replace(/(ACTIVE_KEY)=.*/, '$1=new'))
    else if (kind === 'multihub-keys' && name === 'active') expect(content).toBe('new')
    else if (kind === 'multihub-keys') {
      const [keys, old_keys] = [content, old].map((list) => list.split(','))
      expect(keys).toEqual(expect.arrayContaining(old_keys ?? []))
      expect(keys?.filter((key) => key.includes('.new:'))).toHaveLength(old_keys?.length ?? 0)
    } else expect([path, content]).toEqual([path, old])
  }
})
