import { execFileSync, spawnSync } from 'node:child_process'
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect, createServer } from 'node:tls'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { deriveKey, type Purpose, parseDerivedKeys, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { KEY_PURPOSES, ROLES } from '#lib/role/role.ts'
import { COMMAND_PURPOSES } from '../operations/databases.ts'
import { makeSecretManifests } from './secrets.fixture.ts'

const SERVERS = { MONGODB_URI: 'mongodb://db.example/', NATS_URL: 'nats://bus.example:4222' }

/** For tests of all else: the certificates take most of the time of the script. */
const UNCERTIFIED = { ...SERVERS, CERTIFICATES: 'none' }

const READER = 'mongodb://reader@db.example/'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-make-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('the manifests are in a folder that git ignores, for this user only', () => {
  run(UNCERTIFIED)
  expect(statSync(join(folder, '.local/secrets.yaml')).mode & 0o777).toBe(0o600)
  expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('.local/')
})

test('a second run keeps the keys of the first one', () => {
  run(UNCERTIFIED)
  const first = readFileSync(join(folder, '.local/secrets.yaml'), 'utf8')
  expect(() => run(UNCERTIFIED)).toThrow(/is there already/)
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
  expect(() => run({ ...UNCERTIFIED, ...variables })).toThrow(
    new RegExp(`^${name} is missing or is not a URL`, 'm'),
  )
  expect(() => statSync(join(folder, '.local'))).toThrow('ENOENT')
})

test('an address is the value of its secret, whatever its characters mean in YAML', () => {
  const uri = `mongodb+srv://me:it's"a\\$#{}@db.example/?a=b`
  const made = makeSecretManifests({
    ...process.env,
    ...UNCERTIFIED,
    MONGODB_URI_PAYMENTS: uri,
    MONGODB_URI_BACKUP: READER,
  })
  expect(made).toContainEqual(
    expect.objectContaining({
      metadata: { name: 'multihub-mongodb' },
      stringData: expect.objectContaining({ payments: uri, backup: READER }),
    }),
  )
})

// O9
test('the keys of roles and commands are derived from the master keys, as processes derive them', () => {
  const [old, fresh] = [randomHex(32), randomHex(32)]
  const env = {
    ...process.env,
    MULTIHUB_MASTER_KEYS: `new:${fresh}`,
    MULTIHUB_ACTIVE_KEY: 'new',
    KEPT_KEYS: `old:${old}`,
  }
  const printed = execFileSync(resolve('deploy/make-secrets.sh'), ['keys', 'kubernetes'], { env }).toString()
  const [master, keys] = parseAllDocuments(printed).map((document) => document.toJS())
  expect(master.stringData).toEqual({ 'master-keys': `new:${fresh}` })
  const { active, ...lists } = keys.stringData as Readonly<Record<string, string>>
  expect(active).toBe('new')
  const given = {
    master_keys: parseMasterKeys(`new:${fresh},old:${old}`),
    derived_keys: new Map(),
    active_id: 'new',
  }
  const purposesOf: Readonly<Record<string, readonly Purpose[]>> = {
    ...KEY_PURPOSES,
    backup: COMMAND_PURPOSES.backup,
    verify: COMMAND_PURPOSES.verify,
  }
  // The sandbox has no keys.
  expect(Object.keys(lists).sort()).toEqual(
    Object.keys(purposesOf)
      .filter((name) => name !== 'sandbox')
      .sort(),
  )
  for (const [name, list] of Object.entries(lists)) {
    const derived = parseDerivedKeys(list ?? '')
    expect([...derived.keys()]).toEqual(purposesOf[name])
    for (const [purpose, by_id] of derived) {
      // Only what verifies keeps its old keys.
      expect([...by_id.keys()]).toEqual(
        purpose === 'journal' || purpose === 'audit' ? ['new', 'old'] : ['new'],
      )
      for (const [id, key] of by_id)
        expect(key.equals(deriveKey(given.master_keys.get(id) as KeyObject, purpose))).toBe(true)
    }
  }
})

const [ONE, TWO] = [randomHex(32), randomHex(32)]
const NOT_KEYS = 'take keys id:64-hex-digits'

// O9: a key that lost a digit would derive other keys than processes do from the whole one, and they would encrypt with them.
test.each([
  ['a digit is missing', `one:${ONE.slice(1)}`, 'one', '', NOT_KEYS],
  ['a digit is no digit', `one:${ONE.slice(1)}g`, 'one', '', NOT_KEYS],
  ['the id is missing', ONE, 'one', '', NOT_KEYS],
  ['a former key lost a digit', `one:${ONE}`, 'one', `two:${TWO.slice(1)}`, NOT_KEYS],
  ['two keys have one id', `one:${ONE}`, 'one', `one:${TWO}`, 'two keys have the id one'],
  ['the active key is unknown', `one:${ONE}`, 'on', '', 'MULTIHUB_ACTIVE_KEY is on, which is no id of a'],
])('no keys are derived when %s', (_what, keys, active, kept, sentence) => {
  const env = {
    ...process.env,
    MULTIHUB_MASTER_KEYS: keys,
    MULTIHUB_ACTIVE_KEY: active,
    KEPT_KEYS: kept,
  }
  let ended: unknown
  try {
    execFileSync(resolve('deploy/make-secrets.sh'), ['keys', 'kubernetes'], { env, stdio: 'pipe' })
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: Buffer; stderr: Buffer }
    ended = { status, stdout: String(stdout), stderr: String(stderr) }
  }
  expect(ended).toEqual({ status: 1, stdout: '', stderr: expect.stringContaining(sentence) })
  for (const digits of [ONE, TWO]) expect(JSON.stringify(ended)).not.toContain(digits.slice(1))
})

test('each role, migrate and backup have their own users of MongoDB, and a script creates them', () => {
  const made = makeSecretManifests({ ...process.env, ...UNCERTIFIED }) as readonly {
    readonly metadata: { readonly name: string }
    readonly stringData: Readonly<Record<string, string>>
  }[]
  const uris = made.find(({ metadata }) => metadata.name === 'multihub-mongodb')?.stringData ?? {}
  run(UNCERTIFIED)
  const script = readFileSync(join(folder, '.local/database-users.js'), 'utf8')
  expect(statSync(join(folder, '.local/database-users.js')).mode & 0o777).toBe(0o600)
  const users: { user: string; roles: { role: string; db: string }[] }[] = []
  const createUser = (user: (typeof users)[number]) => users.push(user)
  const made_roles: object[] = []
  const createRole = (role: object) => made_roles.push(role)
  const admin = { createUser, getUser: () => null, createRole, getRole: () => null }
  const db = { getSiblingDB: () => admin }
  runInNewContext(script, { db })
  expect(users.map(({ user }) => user).sort()).toEqual(
    Object.keys(uris)
      .map((name) => `multihub_${name}`)
      .sort(),
  )
  const rolesOf = (name: string) =>
    users.find(({ user }) => user === `multihub_${name}`)?.roles.filter(({ db }) => db !== 'config')
  expect(rolesOf('payments')).toEqual([{ role: 'readWrite', db: 'multihub_payments' }])
  expect(new Set(rolesOf('backup')?.map(({ role }) => role))).toEqual(
    new Set(['read', 'multihub_record_runs']),
  )
  expect(rolesOf('backup')).toHaveLength(ROLES.length + 1)
  const resource = { db: 'multihub_backoffice', collection: 'operation_runs' }
  const actions = ['find', 'insert', 'update', 'remove']
  expect(made_roles).toEqual([
    { role: 'multihub_record_runs', roles: [], privileges: [{ resource, actions }] },
  ])
  expect(rolesOf('migrate')).toHaveLength(2 * ROLES.length)
  for (const [name, uri] of Object.entries(uris))
    expect(uri).toMatch(new RegExp(`^mongodb://multihub_${name}:[0-9a-f]{64}@db.example/$`))
})

test('each role has a certificate of the authority for the names by which others call it, and for no other role', () => {
  const certificates = madeCertificates()
  expect([...certificates.keys()].sort()).toEqual([...ROLES].sort())
  const called: Readonly<Record<string, readonly string[]>> = {
    balances: ['balances', 'balances-2.balances-peers'],
    gateway: ['gateway', 'gateway-calls'],
  }
  for (const [name, { key, certificate, ca }] of certificates) {
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect([certificate.verify(ca.publicKey), certificate.ca, ca.ca]).toEqual([true, false, true])
    for (const host of called[name] ?? [name])
      expect(certificate.checkHost(`${host}.multihub.svc.cluster.local`)).toBeDefined()
    for (const other of ROLES)
      if (other !== name) expect(certificate.checkHost(`${other}.multihub.svc.cluster.local`)).toBeUndefined()
    // /readyz names it 14 days before its end.
    const days = (certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / 86_400_000
    expect(days).toBe(365)
  }
})

test('certificates are made again by the same authority, also for other callers, and cert-manager can make them instead', () => {
  run({ ...SERVERS, NAMESPACE: 'pay' })
  const printed = renew({ NAMESPACE: 'pay' }, 'reports')
  // The names of another namespace would end all calls between pods.
  for (const other of [{}, { NAMESPACE: 'multihub' }])
    expect(() => renew(other)).toThrow(/is for the namespace pay, .* give NAMESPACE=pay$/m)
  rmSync(join(folder, '.local/secrets.yaml'))
  expect(() => run(SERVERS)).toThrow(/is for the namespace pay/)
  const renewed = certificatesOf(parseAllDocuments(printed).map((document) => document.toJS()))
  const authority = new X509Certificate(readFileSync(join(folder, '.local/authority.crt')))
  expect([...renewed.keys()].sort()).toEqual([...ROLES, 'reports'].sort())
  for (const { certificate, ca } of renewed.values())
    expect([certificate.verify(authority.publicKey), ca.fingerprint256]).toEqual([
      true,
      authority.fingerprint256,
    ])
  expect(renewed.get('payments')?.certificate.checkHost('payments.pay.svc.cluster.local')).toBeDefined()
  expect(renewed.get('reports')?.certificate.checkHost('reports')).toBe('reports')
  expect(statSync(join(folder, '.local/authority.key')).mode & 0o777).toBe(0o600)
  const without = makeSecretManifests({ ...process.env, ...SERVERS, CERTIFICATES: 'none' })
  expect(certificatesOf(without).size).toBe(0)
})

test.each([
  ['makes no authority', '-addext', 'openssl cannot make the authority of multihub'],
  ['makes no key', 'req -newkey', 'openssl cannot make the key of attachments'],
  ['signs nothing', 'x509 -req', 'cannot sign the certificate of attachments'],
  ['has no random number', 'rand -hex 16', 'no such openssl'],
  ['makes no new key', 'rand -hex 32', 'no such openssl'],
  ['digests nothing', 'dgst', 'no such openssl'],
])(
  'an openssl that %s leaves no secrets',
  (_what, refused, sentence) => {
    const fake = withFailing('openssl', refused)
    expect(() => run({ ...SERVERS, PATH: fake })).toThrow(sentence)
    const isMade = (name: string): boolean => existsSync(join(folder, '.local', name))
    expect(['secrets.yaml', 'database-users.js'].filter(isMade)).toEqual([])
    expect(isMade('authority.key')).toBe(isMade('authority.crt'))
  },
  60_000,
)

test('a renewal that fails in the middle prints nothing', () => {
  run(SERVERS)
  let printed: unknown
  try {
    renew({ PATH: withFailing('openssl', '/CN=payments') })
  } catch (error) {
    printed = [Reflect.get(error as Error, 'status'), String(Reflect.get(error as Error, 'stdout'))]
  }
  expect(printed).toEqual([1, ''])
}, 60_000)

test('a sort that fails leaves no secrets', () => {
  expect(() => run({ ...UNCERTIFIED, PATH: withFailing('sort', '') })).toThrow('no such sort')
  expect(existsSync(join(folder, '.local/secrets.yaml'))).toBe(false)
})

/** The path of programs, with a program that fails when its arguments contain this text. */
function withFailing(program: string, refused: string): string {
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  const real = execFileSync('bash', ['-c', `command -v ${program}`])
    .toString()
    .trim()
  const script = `#!/bin/sh\ncase "$*" in *'${refused}'*) echo no such ${program} >&2; exit 1 ;; esac\nexec ${real} "$@"\n`
  writeFileSync(join(programs, program), script, { mode: 0o755 })
  return `${programs}:${process.env['PATH']}`
}

test('two pods with certificates of the script accept each other, and refuse one without', async () => {
  const made = madeCertificates()
  const [payments, gateway] = [made.get('payments'), made.get('gateway')]
  if (payments === undefined || gateway === undefined) throw new Error('a certificate is missing')
  const server = createServer(
    {
      key: payments.key,
      cert: payments.certificate.toString(),
      ca: payments.ca.toString(),
      requestCert: true,
    },
    (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const call = async (servername: string, own: object): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', servername, ca: gateway.ca.toString(), ...own })
    const texts: string[] = []
    for await (const text of socket) texts.push(String(text))
    return texts.join('')
  }
  try {
    const own = { key: gateway.key, cert: gateway.certificate.toString() }
    expect(await call('payments.multihub.svc.cluster.local', own)).toBe('gateway')
    await expect(call('balances.multihub.svc.cluster.local', own)).rejects.toThrow('does not match')
    await expect(call('payments.multihub.svc.cluster.local', {})).rejects.toThrow()
  } finally {
    server.close()
  }
})

let made: ReturnType<typeof certificatesOf> | undefined

/** The certificates of one run of the script, which takes seconds. */
function madeCertificates() {
  made ??= certificatesOf(makeSecretManifests({ ...process.env, ...SERVERS }))
  return made
}

/** The certificates in manifests of secrets, by the name of the role or caller. */
function certificatesOf(manifests: readonly unknown[]) {
  const secrets = manifests as readonly {
    readonly type?: string
    readonly metadata: { readonly name: string }
    readonly stringData: Readonly<Record<string, string>>
  }[]
  return new Map(
    secrets
      .filter(({ type }) => type === 'kubernetes.io/tls')
      .map(({ metadata, stringData }) => {
        const { 'tls.key': key = '', 'tls.crt': own = '', 'ca.crt': ca = '' } = stringData
        const read = { key, certificate: new X509Certificate(own), ca: new X509Certificate(ca) }
        return [metadata.name.replace('multihub-tls-', ''), read] as const
      }),
  )
}

/** The entries of a secret that the script has written. */
function entriesOf(secret: string): Readonly<Record<string, string>> {
  const documents = parseAllDocuments(readFileSync(join(folder, '.local/secrets.yaml'), 'utf8'))
  const found = documents.map((one) => one.toJS()).find(({ metadata }) => metadata.name === secret)
  return found.stringData
}

// O10
test('each role gets its own user of NATS, with the password that the server gets', () => {
  const printed = run({ ...UNCERTIFIED, NATS_URL: 'tls://one.example,tls://two.example' })
  const passwords = readFileSync(join(folder, '.local/nats-passwords'), 'utf8')
  const urls = Object.entries(entriesOf('multihub-nats'))
  expect(urls).toHaveLength(7)
  for (const [role, url] of urls) {
    const password = new RegExp(`^NATS_PASSWORD_${role.toUpperCase()}=([a-p]{64})$`, 'm').exec(passwords)?.[1]
    expect(url).toBe(`tls://${role}:${password}@one.example,tls://${role}:${password}@two.example`)
    expect(printed).toContain(`NATS, user ${role}: ${role}\n`)
    expect(printed).toContain(`MongoDB, user multihub_${role}: ${role}\n`)
    expect(printed).not.toContain(password)
  }
  expect(printed).not.toContain('warning')
})

test.each([
  ['user app', 'app:secret@'],
  ['a token', 'secret@'],
])(
  'warns of %s of NATS, or of a database user, that serves several roles, and prints no secret',
  (named, user) => {
    const printed = run({
      ...UNCERTIFIED,
      NATS_URL: `nats://${user}bus.example`,
      NATS_URL_PAYMENTS: 'nats://payments:secret@bus.example',
      MONGODB_URI: 'mongodb://app:secret@db.example/',
    })
    expect(printed).toContain('NATS, user payments: payments\n')
    expect(printed).toContain(`NATS, ${named}: attachments balances gateway merchants notifier support\n`)
    expect(printed).toContain(`warning: NATS, ${named}, serves several roles`)
    expect(printed).toContain('warning: MongoDB, user app, serves several roles')
    expect(printed).not.toMatch(/secret|user payments, serves/)
    expect(existsSync(join(folder, '.local/nats-passwords'))).toBe(false)
  },
)

test('a user in MONGODB_URI is used as it is', () => {
  run({ ...UNCERTIFIED, MONGODB_URI: READER })
  expect(readFileSync(join(folder, '.local/secrets.yaml'), 'utf8')).toContain(`payments: '${READER}'`)
  expect(() => statSync(join(folder, '.local/database-users.js'))).toThrow('ENOENT')
})

/** What the script prints for new certificates. */
function renew(variables: Readonly<Record<string, string>>, ...callers: readonly string[]): string {
  const script = resolve('deploy/make-secrets.sh')
  const env = { ...process.env, ...variables }
  const words = ['certificates', 'kubernetes', ...callers]
  return execFileSync(script, words, { cwd: folder, env, stdio: 'pipe' }).toString()
}

/** What the script prints for its reader, beside the secrets that it writes. */
function run(variables: Readonly<Record<string, string>>): string {
  const script = resolve('deploy/make-secrets.sh')
  const env = { ...process.env, ...variables }
  const { status, stderr } = spawnSync(script, ['kubernetes'], { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stderr
}
