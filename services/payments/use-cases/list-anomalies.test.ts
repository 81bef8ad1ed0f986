import { expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { measureOpenAnomalies } from '../store/anomalies.ts'
import { type AnomalyFilter, listAnomalies } from './list-anomalies.ts'

const START = Date.UTC(2026, 10, 21)
/** Four anomalies share each millisecond. */
const timeOf = (number: number): number => START + Math.floor(number / 4)

const COUNT = 30
const isOpen = (number: number): boolean => number % 5 === 0
const merchantOf = (number: number): string => `70${number % 3}`
const kindOf = (number: number) => (number % 2 === 0 ? 'amount_differs' : 'contradicts_final_status')

/** Stores 30 anomalies of three merchants and two kinds; every fifth one is open. */
async function storeAnomalies({ store: { anomalies } }: PaymentsFixture): Promise<void> {
  const { payment_id, environment } = newDeposit()
  for (let number = 0; number < COUNT; number += 1) {
    const created_at = new Date(timeOf(number))
    await anomalies.insert({
      merchant_id: merchantOf(number),
      anomaly_id: sha256Hex(`${number}`),
      environment,
      payment_id,
      kind: kindOf(number),
      description: `${number}`,
      created_at,
      ...(isOpen(number)
        ? { open_since: created_at }
        : { resolution: { kind: 'dismissed', operation_id: `op-${number}`, note: '', at: created_at } }),
    })
  }
}

// An alert on money must not fire for what developers try in the test environment.
test('the number of open anomalies of each environment is a metric', async () => {
  await using fixture = await openPayments()
  await storeAnomalies(fixture)
  await measureOpenAnomalies(fixture.store.anomalies)
  expect(await metricsText()).toContain('multihub_open_anomalies{environment="test"} 6\n')
  expect(await metricsText()).toContain('multihub_open_anomalies{environment="production"} 0\n')
  const away = { find: () => Promise.reject(new Error('the store does not answer')) }
  await expect(measureOpenAnomalies(away)).rejects.toThrow('does not answer')
  expect(await metricsText()).not.toMatch(/^multihub_open_anomalies\{/m)
})

test.each<[string, AnomalyFilter, (number: number) => boolean]>([
  ['of all merchants', { is_open: false }, () => true],
  ['that are open', { is_open: true }, isOpen],
  ['of one merchant', { is_open: false, merchant_id: '701' }, (number) => merchantOf(number) === '701'],
  [
    'of one kind that are open',
    { is_open: true, kind: 'amount_differs' },
    (number) => isOpen(number) && kindOf(number) === 'amount_differs',
  ],
])('lists the anomalies %s, newest first, each once', async (_which, filter, isListed) => {
  await using fixture = await openPayments()
  await storeAnomalies(fixture)
  const numbers: number[] = []
  let token = ''
  do {
    const page = await listAnomalies(fixture.store.anomalies, filter, { page_size: 4, page_token: token })
    numbers.push(...page.items.map(({ description }) => Number(description)))
    token = page.next_page_token
  } while (token !== '')
  const expected = Array.from({ length: COUNT }, (_, number) => number).filter(isListed)
  expect([...numbers].sort((one, other) => one - other)).toEqual(expected)
  const times = numbers.map(timeOf)
  expect(times).toEqual([...times].sort((one, other) => other - one))
})

test('refuses the token of a list with another filter with 9000', async () => {
  await using fixture = await openPayments()
  await storeAnomalies(fixture)
  const { anomalies } = fixture.store
  const { next_page_token } = await listAnomalies(
    anomalies,
    { is_open: false },
    { page_size: 4, page_token: '' },
  )
  const other = listAnomalies(
    anomalies,
    { is_open: false, merchant_id: '701' },
    { page_size: 4, page_token: next_page_token },
  )
  await expect(other).rejects.toMatchObject({ code: 9000 })
})
