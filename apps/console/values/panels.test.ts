import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CredentialSchema, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { EndpointSchema } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { MerchantSchema, MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { Direction, RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { attemptsOf, callbacksOf, entriesOf, percentileOf, withRevealed } from './payment-rows.ts'
import { checksOf, isOldSecret, type MerchantSetup } from './readiness.ts'

const time = timestampFromMs(1_000)

test('an entry of the ledger has what was there before it: a credit adds, a debit takes', () => {
  const data = { entry_id: 'e', currency: 'INR', amount: '500', reason: 'refund', held_after: '500' }
  const rows = [
    { kind: 'status', data: { status: 'created' } },
    {
      kind: 'ledger_entry',
      time,
      data: { ...data, debit: 'available', credit: 'held', available_after: '-100' },
    },
  ]
  expect(entriesOf(rows)).toEqual([
    {
      entry_id: 'e',
      time,
      reason: 'refund',
      currency: 'INR',
      available: { before: 400n, after: -100n },
      held: { before: 0n, after: 500n },
    },
  ])
})

test('what was revealed is in the rows of then, and later rows are as they are now', () => {
  const row = (kind: string, at_ms: number, name: string) => ({
    kind,
    time: timestampFromMs(at_ms),
    data: { name },
  })
  const revealed = [row('status', 1, 'Asha'), row('status', 1, 'Ravi'), row('event', 1, 'open')]
  const live = [
    row('status', 1, 'A***'),
    row('status', 1, 'R***'),
    row('status', 2, 'N***'),
    row('event', 3, 'e'),
  ]
  expect(withRevealed(live, revealed).map(({ data: { name } }) => name)).toEqual([
    'Asha',
    'Ravi',
    'N***',
    'e',
  ])
})

test('the tries of a callback are gathered, and attempts have what their account answered', () => {
  const delivery = { delivery_id: 'd', event: 'payment.created', url: 'https://shop.example/' }
  const rows = [
    {
      kind: 'delivery',
      time,
      data: { ...delivery, number: 1, failure: 'http_status', http_status: 500, duration_ms: 55 },
    },
    { kind: 'attempt', time, data: { number: 1, account_id: 'a', outcome: 'pending', duration_ms: 3 } },
    { kind: 'delivery', time, data: { ...delivery, number: 2, http_status: 200, duration_ms: 5 } },
  ]
  const [callback] = callbacksOf(rows)
  expect(callback?.tries.map(({ number, failure }) => [number, failure])).toEqual([
    [1, 'http_status'],
    [2, ''],
  ])
  expect(attemptsOf(rows)).toMatchObject([{ account_id: 'a', outcome: 'pending', failure: '' }])
  const tries = callback?.tries ?? []
  expect([percentileOf(tries, 0.5), percentileOf(tries, 0.99), percentileOf([], 0.5)]).toEqual([
    55,
    55,
    undefined,
  ])
})

const environment = Environment.PRODUCTION
const ready: MerchantSetup = {
  merchant: create(MerchantSchema, { status: MerchantStatus.ACTIVE, environments: [environment] }),
  credentials: [
    create(CredentialSchema, {
      applicationId: '1',
      environment,
      status: CredentialStatus.ACTIVE,
      ipAllowlist: ['10.0.0.0/8'],
    }),
  ],
  routes: [
    create(RouteSchema, {
      serviceId: '2',
      environment,
      enabled: true,
      direction: Direction.OUT,
      currency: 'INR',
      providerAccounts: ['a', 'b'],
    }),
  ],
  endpoints: [
    create(EndpointSchema, { endpointId: '3', url: 'https://shop.example/', environment, enabled: true }),
  ],
  tested_endpoint_ids: new Set(['3']),
  configured_account_ids: new Set(['a', 'b']),
  enabled_account_ids: new Set(['b']),
  funded_currencies: new Set(['INR']),
}
const statesOf = (setup: Partial<MerchantSetup>): readonly string[] =>
  checksOf({ ...ready, ...setup })
    .filter(({ state }) => state !== 'done')
    .map(({ name, state, missing }) => `${state}: ${name}${missing === '' ? '' : ` (${missing})`}`)

test('a merchant with everything is ready for production', () => {
  expect(statesOf({})).toEqual([])
})

test.each([
  [
    { tested_endpoint_ids: new Set<string>() },
    'missing: every endpoint has accepted a test event (not: https://shop.example/)',
  ],
  [{ enabled_account_ids: new Set(['c']) }, 'missing: every route has an enabled provider account (not: 2)'],
  [
    { configured_account_ids: new Set(['b']) },
    'missing: routes name configured provider accounts only (not: a of 2)',
  ],
  [{ funded_currencies: new Set(['TRY']) }, 'missing: payouts have money in their currency (not: INR)'],
  [
    {
      credentials: [
        create(CredentialSchema, { applicationId: '1', environment, status: CredentialStatus.ACTIVE }),
      ],
    },
    'missing: every credential has an IP allowlist (not: 1)',
  ],
  [
    { merchant: create(MerchantSchema, { status: MerchantStatus.SUSPENDED, environments: [environment] }) },
    'missing: the merchant is active (activate it)',
  ],
])('what is missing is named with what to do: %#', (setup, expected) => {
  expect(statesOf(setup)).toEqual([expected])
})

test('what depends on something that is missing, or is not read yet, is not known', () => {
  expect(statesOf({ endpoints: [] })).toEqual([
    'missing: there is an enabled production endpoint (create a production endpoint)',
    'unknown: every endpoint has accepted a test event',
  ])
  expect(statesOf({ enabled_account_ids: undefined })).toEqual([
    'unknown: every route has an enabled provider account',
  ])
})

test('a secret is old after a year, and one that was never issued is not', () => {
  const now_ms = 400 * 24 * 3_600_000
  expect([isOldSecret(timestampFromMs(0), now_ms), isOldSecret(timestampFromMs(now_ms), now_ms)]).toEqual([
    true,
    false,
  ])
  expect(isOldSecret(undefined, now_ms)).toBe(false)
})
