import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startDoor, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { role as balances } from '../../services/balances/service.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { runCommand } from './program.ts'

let door: TestDoor
let token: string
let home: string
beforeAll(async () => {
  door = await startDoor([merchants, balances])
  token = (await door.newPrincipal(['admin', 'money'])).token
  home = mkdtempSync(join(tmpdir(), 'multihub-cli-'))
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

/** Runs a command in this process, and returns its exit code and what it printed. */
async function run(
  words: readonly string[],
  {
    columns,
    variables,
    input = '',
  }: { columns?: number; variables?: Record<string, string>; input?: string } = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = ''
  let err = ''
  const stdin = new PassThrough() as unknown as NodeJS.ReadStream
  ;(stdin as unknown as PassThrough).end(input)
  const code = await runCommand(words, {
    variables: variables ?? { MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token, HOME: home },
    directory: home,
    stdin,
    stdout: { write: (text) => (out += text), ...(columns !== undefined && { isTTY: true, columns }) },
    stderr: { write: (text) => (err += text) },
  })
  return { code, out, err }
}

const json = async (...words: readonly string[]) => JSON.parse((await run([...words, '--json'])).out)

async function newMerchant(name = 'alpha'): Promise<string> {
  const { merchantId } = await json(
    'merchants',
    'create',
    '--name',
    name,
    '--timezone',
    'UTC',
    '--environments',
    'test',
  )
  return merchantId
}

test('what was created is shown, listed and changed, with the names of the messages in JSON', async () => {
  const id = await newMerchant('Shop & Söhne')
  expect(await json('merchants', 'show', id)).toMatchObject({
    merchantId: id,
    environments: ['ENVIRONMENT_TEST'],
  })
  expect(
    (await json('merchants', 'list', '--limit', 'all')).map((one: { merchantId: string }) => one.merchantId),
  ).toContain(id)
  expect((await run(['merchants', 'update', id, '--name', 'renamed'])).code).toBe(0)
  expect((await run(['merchants', 'show', id])).out).toMatch(/^name +renamed$/m)
})

test('amounts are in major units of their currency, or in minor units', async () => {
  const id = await newMerchant()
  const adjust = (...words: string[]) =>
    run(['balances', 'adjust', '--merchant', id, '--environment', 'test', '--reason', 'test', ...words])
  expect(await adjust('--amount', '123.45 INR')).toMatchObject({ code: 0, err: '' })
  expect((await adjust('--amount', '-23.45', '--currency', 'INR')).code).toBe(0)
  expect((await adjust('--amount', '100', '--currency', 'INR', '--minor')).code).toBe(0)
  const list = ['balances', 'list', '--merchant', id, '--environment', 'test']
  expect((await run(list)).out).toBe('CURRENCY   AVAILABLE      HELD\nINR       101.00 INR  0.00 INR\n')
  expect((await run([...list, '--minor'])).out).toContain('10100 INR')
  expect((await run([...list, '--csv'])).out).toBe('currency,available,held\r\nINR,101.00 INR,0.00 INR\r\n')
  for (const [amount, problem] of [
    ['1.234 INR', 'at most 2 decimal places'],
    ['1', 'with its currency'],
    ['many INR', 'an amount'],
  ] as const)
    expect(await adjust('--amount', amount)).toMatchObject({ code: 2, err: expect.stringContaining(problem) })
})

test('the same operation id is the same act', async () => {
  const id = await newMerchant()
  const words = [
    'balances',
    'adjust',
    '--merchant',
    id,
    '--environment',
    'test',
    '--amount',
    '5 INR',
    '--reason',
    'x',
    '--operation-id',
    'case-17',
  ]
  expect([(await run(words)).code, (await run(words)).code]).toEqual([0, 0])
  expect((await json('balances', 'list', '--merchant', id, '--environment', 'test'))[0].available).toBe('500')
})

test('exit codes: 1 refused, 2 wrong usage, 3 unreachable', async () => {
  const refused = await run(['merchants', 'show', 'nothing'])
  expect(refused).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^refused 1003: .*merchant_id.*\(request [0-9a-f-]+\)\n"multihub search ID"/),
  })
  expect(
    await run(['merchants', 'show', '1'], {
      variables: { MULTIHUB_URL: door.url, MULTIHUB_TOKEN: 'mhp_wrong' },
    }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('multihub login'),
  })
  for (const words of [
    ['merchants', 'show'],
    ['merchants', 'list', '--unknown'],
    ['merchants', 'nothing'],
    ['nothing'],
    ['balances', 'list', '--environment', 'moon'],
    ['merchants', 'list', '--limit', '0'],
    ['deliveries', 'replay', '--merchant', '1'],
  ])
    expect([words.join(' '), (await run(words)).code]).toEqual([words.join(' '), 2])
  expect((await run(['balances', 'list'])).err).toMatch(
    /^refused \d+: .*merchant_id.*\nthe flag of this field is --merchant-id\n$/,
  )
  expect((await run(['balances', 'list', '--explain'])).err).toMatch(/\n\d+ .*\n {2}for the merchant: /)
  expect(await run(['merchants', 'list', '--url', 'http://127.0.0.1:1'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('http://127.0.0.1:1'),
  })
})

test('a reason in any language goes into the audit trail', async () => {
  const id = await newMerchant()
  const reason = 'müşteri istedi ✓'
  await run(['merchants', 'update', id, '--name', 'renamed', '--reason', reason])
  const entries = await json('audit', 'list', '--merchant', id)
  expect(entries.map((one: { reason: string }) => one.reason)).toContain(reason)
})

test('amounts in minor units by their name, lists that an update wraps, and parts are given in words', async () => {
  const id = await newMerchant()
  const { serviceId } = await json(
    ...[
      'routes',
      'create',
      '--merchant',
      id,
      '--environment',
      'test',
      '--direction',
      'out',
      '--method',
      'imps',
    ],
    ...[
      '--currency',
      'INR',
      '--connector',
      'sandbox',
      '--provider-account',
      'sandbox',
      '--expires-in-seconds',
      '60',
    ],
    ...[
      '--h-id-format',
      'uuid',
      '--minimum-amount',
      '1.50 INR',
      '--payout-limits',
      'daily=1000,monthly=5000',
    ],
  )
  const shown = (await run(['routes', 'show', serviceId])).out
  expect(shown).toMatch(/^minimum_amount +1\.50 INR$/m)
  expect(shown).toMatch(/^ {2}daily +10\.00 INR$/m)
  const { credential } = await json(
    ...['credentials', 'create', '--merchant', id, '--environment', 'test', '--api-version', 'v2'],
    ...['--scopes', 'refunds.read'],
  )
  const update = ['credentials', 'update', credential.applicationId]
  await run([...update, '--scope', 'tickets.read,tickets.create'])
  const read = async () => (await json('credentials', 'show', credential.applicationId)).scopes
  expect(await read()).toEqual(['tickets.read', 'tickets.create'])
  await run([...update, '--scopes', ''])
  expect(await read()).toEqual([])
  expect((await run([...update, '--rate-limits', 'many'])).code).toBe(2)
  await run([...update, '--rate-limits', 'payment.in=5'])
  expect((await json('credentials', 'show', credential.applicationId)).rateLimits).toEqual({
    'payment.in': 5,
  })
})

test('an endpoint has a --url of its own', async () => {
  const id = await newMerchant()
  const create = ['endpoints', 'create', '--merchant', id, '--environment', 'test']
  const { endpoint, secret } = await json(
    ...create,
    '--url',
    'https://shop.example/hook',
    '--backoffice-url',
    door.url,
  )
  expect(endpoint.url).toBe('https://shop.example/hook')
  expect((await run(['endpoints', 'list', '--merchant', id], { columns: 200 })).out).not.toContain(secret)
  expect(
    (await run([...create, '--url', 'https://shop.example/', '--backoffice-url', 'http://127.0.0.1:1'])).code,
  ).toBe(3)
})

test('what destroys something asks first', async () => {
  const id = await newMerchant()
  const erase = await run(['merchants', 'erase-person', id, '--email', 'a@example.com'])
  expect(erase).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
})

test('an empty list says so, and a secret is in the answer of its creation only', async () => {
  const id = await newMerchant()
  const list = ['credentials', 'list', '--merchant', id]
  expect(await run(list)).toMatchObject({ code: 0, err: 'no credentials\n' })
  expect((await run([...list, '--json'])).out).toBe('[]\n')
  const { secret } = await json(
    ...['credentials', 'create', '--merchant', id, '--environment', 'test', '--api-version', 'v1'],
  )
  expect(secret).toMatch(/^\S{20,}$/)
  expect((await run([...list, '--json'])).out).not.toContain(secret)
})

test('a narrow terminal leaves columns out and says so', async () => {
  await newMerchant('a name that is longer than most')
  const { out } = await run(['merchants', 'list', '--limit', 'all'], { columns: 30 })
  expect(out).toContain('too narrow for')
  for (const line of out.split('\n').filter((one) => !one.startsWith('(')))
    expect(line.length).toBeLessThanOrEqual(30)
})

test('login keeps an address and a token in a file of their own, and whoami uses them', async () => {
  const variables = { HOME: home }
  const login = await run(['login', '--url', door.url, '--profile', 'work'], {
    variables,
    input: `${token}\n`,
  })
  expect(login).toMatchObject({ code: 0, out: expect.stringContaining('admin money') })
  const path = join(home, '.config/multihub/profiles.json')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ work: { url: door.url, token } })
  expect((await run(['whoami', '--profile', 'work', '--json'], { variables })).code).toBe(0)
  expect(await run(['whoami'], { variables })).toMatchObject({
    code: 2,
    err: expect.stringContaining('multihub login'),
  })
  expect((await run(['login', '--url', door.url], { variables, input: 'mhp_wrong\n' })).code).toBe(1)
})

test('the command starts as a process of its own, and completes its words', () => {
  const options = { encoding: 'utf8', cwd: home } as const
  expect(execFileSync(process.execPath, [resolve('multihub'), '--help'], options)).toContain('refunds')
  const script = execFileSync(process.execPath, [resolve('multihub'), 'completion', 'bash'], options)
  const complete = (...words: readonly string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=(multihub ${words.join(' ')}); COMP_CWORD=${words.length}; _multihub; echo "\${COMPREPLY[*]}"`,
      ],
      { encoding: 'utf8' },
    ).trim()
  expect(complete('ref')).toBe('refunds')
  expect(complete('refunds', 'app')).toBe('approve')
  expect(complete('refunds', 'approve', 'id', '--rea')).toBe('--reason')
  expect(complete('timeline', 'id', '--re')).toBe('--reveal --reason')
})
