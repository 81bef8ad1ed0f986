import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { codeAndPath, createTestGateway, type FixtureOptions, send } from '../gateway.fixture.ts'

const ROUTES = [
  { serviceId: '501', currency: 'INR' },
  { serviceId: '502', currency: 'TRY' },
  { serviceId: '503', currency: 'INR' },
]
const BALANCES = [
  { currency: 'ARS', available: 5n, held: 0n },
  { currency: 'INR', available: -7n, held: 3n },
]

const getBalance = async (options: FixtureOptions = {}, more: object = {}) => {
  const app = await createTestGateway({
    routes: ROUTES,
    balances: { getBalances: () => ({ balances: BALANCES }) },
    ...options,
  })
  return send(app, { body: { method: 'balance.get', params: {}, ...more } })
}

const currenciesIn = (result: unknown): unknown =>
  (result as { balance: { amounts: { currency: string }[] } }).balance.amounts.map(({ currency }) => currency)

// B3
test('lists the currencies of all routes and of the ledger, sorted by code', async () => {
  const { body } = await getBalance()
  const amount = (currency: string, value: number, value_freezing: number) => ({
    value,
    value_freezing,
    value_blocking: 0,
    currency,
    enabled: true,
  })
  expect(body.result).toStrictEqual({
    balance: {
      id: 7001,
      amounts: [amount('ARS', 5, 0), amount('INR', -7, 3), amount('TRY', 0, 0)],
      enabled: true,
    },
  })
})

test.each<[string, FixtureOptions, object, readonly string[]]>([
  ['a service_id', {}, { service_id: 502 }, ['TRY']],
  ['a service_id that is a text', {}, { service_id: '501' }, ['INR']],
  [
    'a credential restricted to currencies',
    { credential: { currencies: ['INR', 'ARS'] } },
    {},
    ['ARS', 'INR'],
  ],
  ['a credential restricted to a route', { credential: { serviceIds: ['502'] } }, {}, ['TRY']],
  [
    'a credential restricted to both',
    { credential: { serviceIds: ['501', '502'], currencies: ['INR'] } },
    {},
    ['INR'],
  ],
])('lists only the permitted currencies with %s', async (_with, options, more, currencies) => {
  const { body } = await getBalance(options, more)
  expect(currenciesIn(body.result)).toEqual(currencies)
})

test.each<[string, FixtureOptions, object, readonly [number, unknown]]>([
  ['an unknown service_id', {}, { service_id: 999 }, [1004, undefined]],
  ['a negative service_id', {}, { service_id: -1 }, [1004, undefined]],
  ['a denied service_id', { credential: { serviceIds: ['501'] } }, { service_id: 502 }, [3008, undefined]],
  ['a denied currency', { credential: { currencies: ['INR'] } }, { service_id: 502 }, [3008, undefined]],
  ['no account at all', { routes: [], balances: { getBalances: () => ({}) } }, {}, [1011, undefined]],
  ['no account that the credential may see', { credential: { currencies: ['AUD'] } }, {}, [1011, undefined]],
  ['an unknown param', {}, { params: { currency: 'INR' } }, [9000, 'params.currency']],
  ['an operation_id', {}, { operation_id: 'a' }, [9000, 'operation_id']],
])('refuses %s', async (_what, options, more, expected) => {
  expect(codeAndPath(await getBalance(options, more))).toEqual(expected)
})

test('writes balances beyond 2^53 with all their digits', async () => {
  const available = 2n ** 63n - 1n
  const { text } = await getBalance({
    balances: { getBalances: () => ({ balances: [{ currency: 'INR', available, held: 0n }] }) },
  })
  expect(text).toContain('"value":9223372036854775807,')
})

test('answers 2002 if the ledger is unavailable', async () => {
  const getBalances = (): never => {
    throw new Unavailable('the ledger is stopped')
  }
  const { status, body } = await getBalance({ balances: { getBalances } })
  expect([status, body.error?.code]).toEqual([400, 2002])
})
