import { execFile, execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestCli, type TestCli } from './cli.fixture.ts'
import { evidenceSuite } from './evidence.suite.ts'
import { loginSuite } from './login.suite.ts'
import { overviewSuite } from './overview.suite.ts'
import { packageSuite } from './package.suite.ts'
import { terminalSuite } from './terminal.suite.ts'
import { timelineSuite } from './timeline.suite.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(async () => cli[Symbol.asyncDispose]())

const run: TestCli['run'] = (...words) => cli.run(...words)
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
  expect((await run([...list, '--csv'])).out).toBe('currency,available,held\r\nINR,101.00,0.00\r\n')
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
    err: expect.stringMatching(
      /^refused 1003: .*merchant_id.*\(request [0-9a-f-]+\)\n"\.\/multihub search ID"/,
    ),
  })
  expect(
    await run(['merchants', 'show', '1'], {
      variables: { MULTIHUB_URL: cli.door.url, MULTIHUB_TOKEN: 'mhp_wrong' },
    }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('./multihub login'),
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
  expect(shown).toMatch(/^ {2}daily +1,000\.00 INR$/m)
  const limits = async (...words: readonly string[]) => {
    const { code } = await run(['routes', 'update', serviceId, '--payout-limits', ...words])
    return [code, (await json('routes', 'show', serviceId)).payoutLimits.daily]
  }
  expect(await limits('daily=20.50')).toEqual([0, '2050'])
  expect(await limits('daily=20 INR')).toEqual([0, '2000'])
  expect(await limits('daily=20 JPY')).toEqual([2, '2000'])
  expect(await limits('daily=30', '--minor')).toEqual([0, '30'])
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

// P14
test('a settlement is shown by --dry-run before it is done', async () => {
  const id = await newMerchant()
  const settle = ['balances', 'settle', '--merchant', id, '--environment', 'test', '--currency', 'INR']
  const preview = async () => (await json(...settle, '--dry-run')).settlementPeriod
  expect([await preview(), await preview()]).toEqual(['1', '1'])
  expect((await run([...settle, '--dry-run'])).out).toMatch(/^settlement_period +1$/m)
  expect((await json(...settle)).settlementPeriod).toBe('1')
  expect(await preview()).toBe('2')
})

test('an endpoint has a --url of its own', async () => {
  const id = await newMerchant()
  const create = ['endpoints', 'create', '--merchant', id, '--environment', 'test']
  const { endpoint, secret } = await json(
    ...create,
    '--url',
    'https://shop.example/hook',
    '--backoffice-url',
    cli.door.url,
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
  for (const words of [
    ['tickets', 'delete', 'none'],
    ['principals', 'revoke', 'none'],
    ['merchants', 'update', id, '--status', 'closed'],
  ])
    expect(await run(words)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
  expect((await run(['merchants', 'update', id, '--status', 'suspended'])).code).toBe(0)
  expect((await run(['merchants', 'update', id, '--status', 'closed', '--yes'])).code).toBe(0)
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
    expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(30)
})

test('the command starts as a process of its own, and completes its words', () => {
  const options = { encoding: 'utf8', cwd: cli.home } as const
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

test('only the code in use is loaded', async () => {
  // It writes the files that Node.js loads, after all else.
  const hook = `import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context) } })
    process.on('exit', () => process.stderr.write(urls.join(' ')))`
  const loadedBy = (...words: readonly string[]): Promise<readonly string[]> => {
    const url = `data:text/javascript,${encodeURIComponent(hook)}`
    const parameters = ['--import', url, resolve('multihub'), ...words]
    return new Promise((done) => {
      execFile(process.execPath, parameters, { env: cli.variables }, (_error, _out, stderr) =>
        done(stderr.split(/\s+/).filter((word) => word.startsWith('file:'))),
      )
    })
  }
  const servicesIn = (urls: readonly string[]): readonly string[] =>
    urls.flatMap((url) => /(\w+_service)_pb\.ts$/.exec(url)?.[1] ?? [])
  const help = await loadedBy('--help')
  expect(help.filter((url) => /\/gen\/|protobuf|connectrpc|clack/.test(url))).toEqual([])
  expect(help.length).toBeLessThan(25)
  const list = await loadedBy('refunds', 'list')
  expect([servicesIn(list), list.filter((url) => /clack|error-advice|find-payment/.test(url))]).toEqual([
    ['refund_service'],
    [],
  ])
  expect(servicesIn(await loadedBy('merchants', 'show', cli.shop.merchant_id))).toEqual(['merchant_service'])
  expect(servicesIn(await loadedBy('routes', 'list', '--help'))).toEqual(['route_service'])
})

overviewSuite(() => cli)
timelineSuite(() => cli)
loginSuite(() => cli)
packageSuite(() => cli)
terminalSuite(() => cli)
evidenceSuite(() => cli)
