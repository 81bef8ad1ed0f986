import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { PrincipalSchema } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { UpdatePrincipalRequestSchema } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import {
  BalanceService,
  PreviewSettlementResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CredentialSchema } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { UpdateCredentialRequestSchema } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantSchema } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { Direction, RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import {
  CreateRouteRequestSchema,
  UpdateRouteRequestSchema,
} from '#gen/multihub/merchants/v1/route_service_pb.ts'
import {
  type Anomaly,
  AnomalyKind,
  AnomalyResolutionSchema,
  AnomalySchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { ATTACHMENT_TYPES } from '#lib/contract/attachments.ts'
import { ALL_METHODS } from '#lib/contract/payment-methods.ts'
import type { Act } from './act.ts'
import { anomaly_acts } from './anomalies.ts'
import { EVIDENCE_TYPES, evidenceType } from './chargebacks.ts'
import { credential_acts } from './credentials.ts'
import { findField } from './fields.ts'
import { account_acts } from './money.ts'
import { createPrincipal, principal_acts } from './people.ts'
import { createRoute, ROUTE_METHODS, route_acts } from './routes.ts'
import {
  amountSentences,
  fieldsOf,
  hasPreview,
  type Machine,
  previewAct,
  reasonRule,
  requestOf,
  rulesOf,
} from './run-act.ts'

/** Every act that a module of this folder declares. */
const acts: Act<never>[] = []
beforeAll(async () => {
  const files = (await readdir(import.meta.dirname)).filter((file) => /^[a-z-]+\.ts$/.test(file))
  for (const file of files)
    for (const exported of Object.values(await import(join(import.meta.dirname, file))))
      for (const one of [exported].flat()) if (isAct(one)) acts.push(one)
})

function isAct(value: unknown): value is Act<never> {
  return typeof value === 'object' && value !== null && 'method' in value && 'effects' in value
}

/** The fields of an act on an item that has nothing but lists. */
const fieldsWithoutItem = (act: Act<never>) =>
  fieldsOf({ ...act, edits: false }, { environments: [1] } as never)

describe('every act', () => {
  test('calls an RPC of the table of the operator, which says who is offered it', () => {
    expect(acts.length).toBeGreaterThan(40)
    expect(acts.filter((act) => rulesOf({ ...act, rights: undefined as never }).rights[0] === '')).toEqual([])
  })

  test('asks for fields that its request has, and for no other but files', () => {
    const unknown = acts.flatMap((act) =>
      fieldsWithoutItem(act)
        .filter(({ name, kind }) => kind !== 'file' && findField(act.method.input, name) === undefined)
        .map(({ name }) => `${act.name}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  test('that changes something asks for a reason, or offers to give one', () => {
    const silent = acts.filter((act) => rulesOf(act).changes && reasonRule(act) === 'none')
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  test('that creates something has the key of its operation in the request', () => {
    const creates = acts.filter(({ method }) => /^(Create|Open|Adjust|Settle)/.test(method.name))
    const { request } = requestOf(createPrincipal, undefined, {
      values: {},
      reason: 'r',
      operation_id: 'one',
    })
    expect(
      creates.map(({ method }) => method.input.fields.some(({ name }) => name === 'operation_id')),
    ).not.toContain(false)
    expect(request).toMatchObject({ operationId: 'one' })
  })
})

const act = <T>(all: readonly Act<T>[], name: string): Act<T> => {
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no act ${name}`)
  return found
}

/** Reads a form whose other fields stay as they were shown. */
function read<T>(edited: Act<T>, item: T, changed: Readonly<Record<string, string>>) {
  const shown = Object.fromEntries(fieldsOf(edited, item).map(({ name, initial }) => [name, initial]))
  return requestOf(edited, item, { values: { ...shown, ...changed }, reason: 'because', operation_id: 'one' })
}

const made = (desc: DescMessage, request: object) => create(desc, request as never)

describe('an edit', () => {
  const credential = create(CredentialSchema, {
    applicationId: '1001',
    scopes: ['tickets.read'],
    ipAllowlist: ['203.0.113.7'],
    rateLimits: { 'payment.in': 100 },
    dailyLimit: 5n,
  })
  const edit = act(credential_acts, 'Edit')

  test('shows what the resource has', () => {
    const shown = fieldsOf(edit, credential).map(({ name, initial }) => [name, initial])
    expect(Object.fromEntries(shown)).toMatchObject({
      scopes: 'tickets.read',
      ip_allowlist: '203.0.113.7',
      rate_limits: 'payment.in = 100',
      daily_limit: '5',
      currencies: '',
    })
  })

  test('sends only what was changed, also what was emptied', () => {
    const { request } = read(edit, credential, {
      ip_allowlist: '',
      rate_limits: 'payment.in = 7\npayment.out: 8',
    })
    expect(made(UpdateCredentialRequestSchema, request)).toEqual(
      made(UpdateCredentialRequestSchema, {
        applicationId: '1001',
        ipAllowlist: { values: [] },
        rateLimits: { values: { 'payment.in': 7, 'payment.out': 8 } },
      }),
    )
  })

  test('without a change is not sent', () => {
    expect(Object.values(read(edit, credential, {}).problems)).toEqual(['Nothing is changed yet.'])
  })

  test('keeps the choices of a newer release', () => {
    const newer = { ...credential, scopes: ['tickets.read', 'payouts.read'] }
    expect(read(edit, newer, { scopes: 'payouts.read' }).request).toMatchObject({
      scopes: { values: ['payouts.read'] },
    })
  })

  test('of one limit of payouts sends all of them, because the server replaces them as a whole', () => {
    const route = create(RouteSchema, {
      serviceId: '30001',
      direction: Direction.OUT,
      currency: 'INR',
      payoutLimits: { daily: 500_000n, maximum: 100_000n },
    })
    const { request } = read(act(route_acts, 'Edit'), route, { 'payout_limits.daily': '6,000.50' })
    expect(made(UpdateRouteRequestSchema, request)).toMatchObject({
      payoutLimits: { daily: 600_050n, maximum: 100_000n, monthly: 0n },
    })
  })

  test('that removes the end of a token says so', () => {
    const principal = create(PrincipalSchema, {
      principalId: 'p',
      name: 'n',
      rights: ['read'],
      expiresAt: timestampFromDate(new Date(2027, 0, 2, 3, 4)),
    })
    const change = act(principal_acts, 'Change')
    expect(fieldsOf(change, principal).at(-1)?.initial).toBe('2027-01-02T03:04')
    expect(made(UpdatePrincipalRequestSchema, read(change, principal, { expires_at: '' }).request)).toEqual(
      made(UpdatePrincipalRequestSchema, { principalId: 'p', neverExpires: true }),
    )
  })
})

describe('what a person writes', () => {
  const merchant = create(MerchantSchema, { merchantId: '1001', environments: [Environment.TEST] })
  const route = (values: Readonly<Record<string, string>>) =>
    read(createRoute, merchant, {
      direction: 'out',
      method: 'imps',
      currency: 'INR',
      environment: 'test',
      ...values,
    })

  test('becomes the request of the RPC', () => {
    const { request, problems } = route({
      provider_accounts: 'sandbox-a, sandbox-b',
      minimum_amount: '1.5',
      expires_in_seconds: '15 min',
    })
    expect(problems).toEqual({})
    expect(made(CreateRouteRequestSchema, request)).toMatchObject({
      merchantId: '1001',
      environment: Environment.TEST,
      direction: Direction.OUT,
      providerAccounts: ['sandbox-a', 'sandbox-b'],
      minimumAmount: 150n,
      expiresInSeconds: 900,
      operationId: 'one',
    })
  })

  test.each([
    ['minimum_amount', '1.234', /at most 2 decimal places/],
    ['minimum_amount', '1e3', /is not an amount of INR/],
    ['minimum_amount', '12,50', /comma that does not separate three digits/],
    ['minimum_amount', '1,2345', /comma that does not separate three digits/],
    ['minimum_amount', '1234,567', /comma that does not separate three digits/],
    ['expires_in_seconds', 'soon', /is not a time/],
  ])('%s %s is named as a problem of its field, and never left out', (name, text, problem) => {
    expect(route({ [name]: text }).problems[name]).toMatch(problem)
  })

  test.each([
    ['12,300.00', 'INR', 1_230_000n],
    ['-5', 'INR', -500n],
    ['1500', 'JPY', 1_500n],
    ['0.001', 'KWD', 1n],
  ])('%s %s is exact', (text, currency, minor) => {
    const account = { merchantId: '1', environment: Environment.TEST, currency, available: 0n, held: 0n }
    const { request } = read(act(account_acts, 'Adjust'), account, { amount: text })
    expect(request).toMatchObject({ amount: { minor, currency }, reason: 'because' })
  })

  test('is shown as the amount that will be sent', () => {
    const account = {
      merchantId: '1',
      environment: Environment.TEST,
      currency: 'INR',
      available: 0n,
      held: 0n,
    }
    const sentences = (amount: string) =>
      amountSentences(act(account_acts, 'Adjust'), account, { amount, reason: '' })
    expect(sentences('-1250')).toEqual(['Amount in INR, negative to take: -1,250.00 INR'])
    expect(sentences('12,50')).toEqual([])
  })
})

test('the lists that are written out again are those of the contract', () => {
  expect(ROUTE_METHODS).toEqual(ALL_METHODS)
  expect(EVIDENCE_TYPES).toEqual(ATTACHMENT_TYPES)
})

test('the type of evidence follows from the ending of its name', () => {
  expect(['a.PDF', 'b.jpeg', 'c.log', 'd.csv'].map((name) => evidenceType({ name }))).toEqual([
    'application/pdf',
    'image/jpeg',
    'text/plain',
    'text/csv',
  ])
  expect(() => evidenceType({ name: 'e.exe' })).toThrow('the name must end with .pdf')
})

test('a settlement says what it would end before it is done', async () => {
  const account = { merchantId: '1', environment: Environment.TEST, currency: 'INR', available: 0n, held: 0n }
  const settle = act(account_acts, 'Settle')
  expect(hasPreview(settle)).toBe(true)
  const said = async (answer: MessageInitShape<typeof PreviewSettlementResponseSchema>) => {
    const calls: unknown[] = []
    const call = async (...given: unknown[]) => {
      calls.push(given)
      return create(PreviewSettlementResponseSchema, answer)
    }
    const machine = { call, upload: async () => {}, progress: () => {}, pause: async () => {} }
    const decision = { values: {}, reason: 'because', operation_id: 'one' }
    const { sentences, confirm } = await previewAct(settle, account, decision, machine as unknown as Machine)
    const request = { merchantId: '1', environment: Environment.TEST, currency: 'INR' }
    expect(calls).toEqual([[BalanceService.method.previewSettlement, request]])
    // Without a word to write the act could not be sent.
    expect(confirm).toBe('INR')
    return sentences
  }
  const balance = { currency: 'INR', available: 12_300n, held: 50n }
  const routes = [{ serviceId: '30001', total: { minor: 7_005n, currency: 'INR' } }]
  expect(await said({ settlementPeriod: 3n, balance, routes })).toEqual([
    'Settlement period 3 would begin. Nothing is changed yet.',
    'The balance stays: 123.00 INR available, 0.50 INR held.',
    'Route 30001: 70.05 INR of payouts would count no more.',
  ])
})

test('a moved account is confirmed from its anomaly, and no payment of it is decided', () => {
  const anomaly = create(AnomalySchema, {
    anomalyId: 'a',
    kind: AnomalyKind.ACCOUNT_MOVED,
    accountId: 'sandbox',
    description: 'provider account sandbox has another base URL',
  })
  const offered = (item: Anomaly) =>
    anomaly_acts.filter((one) => one.isOffered?.(item)).map(({ name }) => name)
  expect(offered(anomaly)).toEqual(['It is the same account', 'Dismiss'])
  expect(offered({ ...anomaly, resolution: create(AnomalyResolutionSchema) })).toEqual([])
  expect(offered({ ...anomaly, kind: AnomalyKind.OPEN_TOO_LONG, paymentId: 'p' })).toEqual([
    'Dismiss',
    'It was paid',
    'It was not paid',
  ])
  const confirm = act(anomaly_acts, 'It is the same account')
  expect(confirm.confirm?.(anomaly)).toBe('sandbox')
  expect(read(confirm, anomaly, {}).request).toEqual({ accountId: 'sandbox', operationId: 'one' })
})
