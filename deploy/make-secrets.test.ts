import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { makeSecretManifests } from './secrets.fixture.ts'

const SERVERS = { MONGODB_URI: 'mongodb://db.example/', NATS_URL: 'nats://bus.example:4222' }

const READER = 'mongodb://reader@db.example/'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-make-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('the manifests are in a folder that git ignores, for this user only', () => {
  run(SERVERS)
  expect(statSync(join(folder, '.local/secrets.yaml')).mode & 0o777).toBe(0o600)
  expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('.local/')
})

test('a second run keeps the keys of the first one', () => {
  run(SERVERS)
  const first = readFileSync(join(folder, '.local/secrets.yaml'), 'utf8')
  expect(() => run(SERVERS)).toThrow(/is there already/)
  expect(readFileSync(join(folder, '.local/secrets.yaml'), 'utf8')).toBe(first)
})

test.each([
  ['MONGODB_URI', { MONGODB_URI: '' }],
  ['MONGODB_URI', { MONGODB_URI: 'db.example' }],
  ['MONGODB_URI', { MONGODB_URI: 'mongodb://db.example/\nother: key' }],
  ['MONGODB_URI_PAYMENTS', { MONGODB_URI_PAYMENTS: 'postgres://db.example' }],
  ['NATS_URL', { NATS_URL: '' }],
  ['NATS_URL', { NATS_URL: 'http://bus.example' }],
])('refuses %s in %j, and makes nothing', (name, variables) => {
  expect(() => run({ ...SERVERS, ...variables })).toThrow(
    new RegExp(`^${name} is missing or is not a URL`, 'm'),
  )
  expect(() => statSync(join(folder, '.local'))).toThrow('ENOENT')
})

test('an address is the value of its secret, whatever its characters mean in YAML', () => {
  const uri = `mongodb+srv://me:it's"a\\$#{}@db.example/?a=b`
  const made = makeSecretManifests({
    ...process.env,
    ...SERVERS,
    MONGODB_URI_PAYMENTS: uri,
    MONGODB_URI_BACKUP: READER,
  })
  expect(made).toContainEqual(
    expect.objectContaining({
      metadata: { name: 'multihub-mongodb' },
      stringData: expect.objectContaining({ payments: uri, backup: READER, migrate: SERVERS.MONGODB_URI }),
    }),
  )
})

function run(variables: Readonly<Record<string, string>>): void {
  const script = resolve('deploy/make-secrets.sh')
  const env = { ...process.env, ...variables }
  execFileSync(script, ['kubernetes'], { cwd: folder, env, stdio: 'pipe' })
}
