import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import { KEY_SETTINGS, readKeys } from '#lib/base/config/key-settings.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { openStore } from '#lib/store/open.ts'
import { databaseOf } from '../../app/roles.ts'
import { archive } from '../../operations/archive/archive.ts'
import { backUp } from '../../operations/backup/backup.ts'
import { restore } from '../../operations/backup/restore.ts'
import { diagnose } from '../../operations/doctor/doctor.ts'
import { verify } from '../../operations/verify.ts'
import { erasePayment } from '../../services/payments/domain/erase-payment.ts'
import { requireAdmitted } from '../../services/payments/domain/payment.ts'
import { findByAnyId } from '../../services/payments/store/payments.ts'
import { openPaymentsStore } from '../../services/payments/store/payments-store.ts'
import { runHere, runHereToEnd } from '../support/command.ts'
import { type Demo, merchantClient } from '../support/merchant.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { keysOf } from './backup.suite.ts'

const LONG_MS = 300_000
const ENDED_AT = new Date('2026-01-05T10:00:00.000Z')
const VALUE = 70_000

let directory: string
let providers: string
let system: SystemHere
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-archived-'))
  providers = await mkdtemp(join(tmpdir(), 'multihub-providers-'))
  const account = { connector: 'http', account_id: 'live', environment: 'production' }
  const accounts = [{ ...account, base_url: 'https://127.0.0.1:1', key: randomHex(32) }]
  await writeFile(join(providers, 'accounts.json'), JSON.stringify({ accounts }))
  system = await startHere({
    MULTIHUB_SCANNER: 'none',
    MULTIHUB_ARCHIVE: directory,
    MULTIHUB_PROVIDERS_FILE: join(providers, 'accounts.json'),
  })
}, LONG_MS)
afterAll(async () => {
  await system.end()
  for (const made of [directory, providers]) await rm(made, { recursive: true, force: true })
})

const operator: Operator = (rpc, request) => operatorOf(system.demo())(rpc, request)
const variables = async () => ({
  MULTIHUB_HOME: system.home,
  MULTIHUB_ARCHIVE: directory,
  ...(await keysOf(system)),
})

/** A demo.json whose merchant has a credential of production, with money, and the route of its payments. */
async function productionDemo(): Promise<{ readonly demo: () => Demo; readonly service_id: string }> {
  const [alpha] = system.demo().merchants
  if (!alpha) throw new Error('there is no merchant')
  const owner = { merchantId: alpha.merchant_id, environment: 'ENVIRONMENT_PRODUCTION' }
  await operator('multihub.merchants.v1.MerchantService/UpdateMerchant', {
    merchantId: alpha.merchant_id,
    environments: ['ENVIRONMENT_TEST', 'ENVIRONMENT_PRODUCTION'],
  })
  const { credential, secret } = await operator('multihub.merchants.v1.CredentialService/CreateCredential', {
    ...owner,
    apiVersion: 'API_VERSION_V1',
    scopes: SCOPES,
    supportResources: SUPPORT_RESOURCES,
  })
  const { route } = await operator('multihub.merchants.v1.RouteService/CreateRoute', {
    ...owner,
    direction: 'DIRECTION_IN',
    method: 'upi',
    currency: 'INR',
    connector: 'http',
    providerAccounts: ['live'],
  })
  await operator('multihub.balances.v1.BalanceService/Adjust', {
    ...owner,
    currency: 'INR',
    amount: { minor: 10 * VALUE, currency: 'INR' },
    reason: 'funds of a test',
    operationId: randomUUID(),
  })
  const [first] = alpha.credentials
  if (!first) throw new Error('there is no credential')
  const own = {
    ...first,
    api_version: 'v1' as const,
    application_id: Number(credential.applicationId),
    secret,
  }
  const merchant = { ...alpha, credentials: [own] }
  return { demo: () => ({ ...system.demo(), merchants: [merchant] }), service_id: route.serviceId }
}

/** Opens the payments of a stopped system. */
async function openPayments(home = system.home) {
  const store = await openStore({
    database: databaseOf('multihub', 'payments'),
    directory: join(home, 'data'),
  })
  const keys = readKeys(readConfig(KEY_SETTINGS, await variables()), ['person', 'search'])
  return { ...(await openPaymentsStore(store, keys)), store, [Symbol.asyncDispose]: () => store.close() }
}

/** Makes a payment of test an erased payment of production that ended long ago. */
async function age(payment_id: string, service_id: string): Promise<void> {
  await using opened = await openPayments()
  const found = await findByAnyId(opened.payments, payment_id)
  if (!found) throw new Error('the payment is gone')
  const { version, ...payment } = requireAdmitted(found)
  const { merchant_id, environment, c_id } = payment
  await opened.payments.delete({ merchant_id, environment, c_id }, version)
  const account = { provider_accounts: ['live'], attempt: { ...payment.attempt, account_id: 'live' } }
  const attempts = (payment.attempts ?? []).map(({ account: _, ...attempt }) => attempt)
  const changes = { environment: 'production', service_id, updated_at: ENDED_AT } as const
  const aged = { ...payment, ...account, attempts, ...changes }
  await opened.payments.insert({ ...erasePayment(aged, 'request', ENDED_AT), effects: [] })
}

/** Leaves the record of a run that was killed long ago. */
async function recordKilledRun(home: string): Promise<void> {
  await using opened = await openPayments(home)
  const file = 'payments-2026-01-05-000000000000.jsonl.gz'
  await opened.archive_files.insert({ collection: 'payments', file, began_at: ENDED_AT })
}

async function countRecords(home: string): Promise<number> {
  await using opened = await openPayments(home)
  return (await opened.archive_files.find('key', { equals: ['payments'] }, { limit: 9 })).length
}

/** Deletes the record of the only file that payments need, and returns the name of the file. */
async function forgetRecord(home: string): Promise<string> {
  await using opened = await openPayments(home)
  const [record] = await opened.archive_files.find('key', { equals: ['payments'] }, { limit: 1 })
  if (!record) throw new Error('there is no record of a file')
  const { collection, file, version } = record
  await opened.archive_files.delete({ collection, file }, version)
  return file
}

/** What a command prints about payments. */
async function linesOf(...parameters: Parameters<typeof runHereToEnd>): Promise<readonly string[]> {
  return (await runHereToEnd(...parameters)).filter((line) => line.startsWith('payments: '))
}

const away = (): string => `${directory}-away`

// O24
test(
  'an archived payment is a payment as before; without its file nothing of it is shown, and its c_id stays taken',
  async () => {
    const test_client = merchantClient(system.demo)
    const { c_id } = await test_client.deposit(VALUE)
    const { identifiers } = await test_client.finalPayment(c_id)
    const paymentId: string = (
      await operator('multihub.payments.v1.PaymentService/GetPayment', { paymentId: identifiers.h_id })
    ).payment.paymentId
    const { demo, service_id } = await productionDemo()
    await system.stop()
    await age(paymentId, service_id)
    await system.start()
    const merchant = merchantClient(demo)
    const getPayment = async () =>
      (await operator('multihub.payments.v1.PaymentService/GetPayment', { paymentId })).payment
    const explain = () =>
      operator('multihub.payments.v1.PaymentExplanationService/ExplainPayment', { paymentId })
    const timeline = () => operator('multihub.backoffice.v1.TimelineService/GetTimeline', { paymentId })
    const status = async () => (await merchant.status(c_id)).body.result.payment
    const create = async () => {
      const payment = {
        identifiers: { c_id },
        amount: { value: VALUE, currency: 'INR' },
        payer: { email: 'customer@example.com', person: { first_name: 'Asha' } },
      }
      const body = { method: 'payment.in', service_id: Number(service_id), params: { payment } }
      return (await merchant.call(body)).body.error.code
    }
    const before = [await status(), await getPayment(), await explain(), (await timeline()).rows]

    expect(await linesOf(archive, ['--before', '2026-01-05', directory], await variables())).toEqual([
      'payments: 0 documents of payments were archived: no more payments of production that ended before the date are closed and erased; payments of test are never archived',
    ])
    const [line = ''] = await linesOf(archive, ['--before', '2026-01-06', directory], await variables())
    expect(line).toMatch(
      /^payments: 1 documents of payments were archived in payments-\S+\.jsonl\.gz \(\d+ bytes in \d+\)$/,
    )
    expect([await status(), await getPayment(), await explain(), (await timeline()).rows]).toEqual(before)
    const listed = await operator('multihub.payments.v1.PaymentService/ListPayments', {
      merchantId: merchant.merchant.merchant_id,
      environment: 'ENVIRONMENT_PRODUCTION',
    })
    expect(listed.payments).toHaveLength(1)
    expect(await create()).toBe(6009)
    expect(await linesOf(archive, ['--check', directory], await variables())).toEqual([
      'payments: 1 archived documents of payments, 0 unreadable',
    ])
    expect((await runHere(verify, [], await variables())).output).toContain(
      'payments: 1 archived documents of payments, 0 unreadable',
    )

    expect(await linesOf(archive, ['--restore', directory], await variables())).toEqual([
      'payments: 1 documents of payments were restored, 0 unreadable',
    ])
    expect(await getPayment()).toEqual(before[1])
    await linesOf(archive, ['--before', '2026-01-06', directory], await variables())
    expect(await readdir(directory)).toHaveLength(2)

    const backup = join(providers, 'backup')
    const needed = /^payments: archived documents need payments-\S+\.jsonl\.gz of MULTIHUB_ARCHIVE$/
    expect(await linesOf(backUp, [backup], await variables())).toContainEqual(expect.stringMatching(needed))
    const restored = { ...(await variables()), MULTIHUB_HOME: join(providers, 'restored') }
    const lines = await linesOf(restore, ['--erasures', 'none', backup], restored)
    expect(lines).toContainEqual(expect.stringMatching(needed))
    expect(await linesOf(archive, ['--check', directory], restored)).toEqual([
      'payments: 1 archived documents of payments, 0 unreadable',
    ])
    await recordKilledRun(restored.MULTIHUB_HOME)
    await runHereToEnd(archive, ['--before', '2026-01-05', directory], restored)
    expect(await countRecords(restored.MULTIHUB_HOME)).toBe(1)

    await rename(directory, away())
    for (const words of [['--check'], ['--restore']]) {
      const { code, output, log } = await runHere(archive, [...words, directory], restored)
      expect(output).toMatch(
        /PROBLEM {2}payments: 1 documents of payments: the archive file payments-\S+ cannot be read: ENOENT/,
      )
      expect([code, log.trimEnd().split('\n').at(-1)]).toEqual([
        1,
        '1 problem was found: docs/operators/archive.md says what to do',
      ])
    }
    expect(await runHere(verify, [], restored)).toMatchObject({
      code: 1,
      output: expect.stringContaining('PROBLEM  payments: 1 documents of payments'),
      // The other one: the ledger of production has no entry of a payment that was one of test.
      log: expect.stringContaining('2 problems were found'),
    })
    const { MULTIHUB_ARCHIVE: _, ...unset } = restored
    expect((await runHere(verify, [], unset)).output).toContain('their bodies are not checked')
    const file = await forgetRecord(restored.MULTIHUB_HOME)
    expect((await runHere(verify, [], unset)).output).toContain(
      `PROBLEM  payments: documents of payments need ${file}, which has no record`,
    )
    await system.stop()
    await system.start()
    expect((await merchant.status(c_id)).body.error.code).toBe(2002)
    expect(await create()).toBe(2002)
    await expect(getPayment()).rejects.toThrow('unavailable')
    expect(
      (await runHere(diagnose, [], { ...(await variables()), MULTIHUB_SANDBOX_KEY: randomHex(32) })).output,
    ).toMatch(/PROBLEM {2}database multihub_payments: \S+ \(MULTIHUB_ARCHIVE\) cannot be read \(ENOENT\)/)
    await rename(away(), directory)
    expect(await status()).toEqual(before[0])

    const params = { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '1000', reason: 'late' }
    const requested = (await merchant.call({ method: 'refund.request', params })).body
    expect(requested.error).toBeUndefined()
    const refundId: string = requested.result.identifiers.h_id
    const approved = await operator('multihub.support.v1.RefundService/ApproveRefund', { refundId })
    expect(approved.refund.status).toBe('REFUND_STATUS_APPROVED')
    await system.stop()
    await using opened = await openPayments()
    const stored = await findByAnyId(opened.sealed_payments, paymentId)
    expect(stored).not.toHaveProperty('archived')
    // The file of the payments that were put back has no record any more.
    expect(await opened.archive_files.find('key', { equals: ['payments'] }, { limit: 9 })).toHaveLength(1)
    expect(stored).toMatchObject({
      creates: expect.arrayContaining([expect.objectContaining({ account_id: 'sandbox' })]),
      refunds: [{ amount: 1_000n, state: expect.any(String) }],
    })
  },
  LONG_MS,
)

test.each([
  [[]],
  [['/archive']],
  [['--before', '2026-01-01']],
  [['--before', '2026-02-30', '/archive']],
  [['--before', 'yesterday', '/archive']],
  [['--check', '--restore', '/archive']],
  [['--check', '/archive', '/other']],
  [['--check', '/archive']],
])('refuses the words %j', async (words) => {
  const { code, output } = await runHere(archive, words, await variables())
  expect([code, output]).toEqual([1, ''])
})
