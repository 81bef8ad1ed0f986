import { expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { listAnomalies } from './list-anomalies.ts'

const START = Date.UTC(2026, 10, 21)
/** Four anomalies share each millisecond. */
const timeOf = (number: number): number => START + Math.floor(number / 4)

test('lists the anomalies of all merchants, newest first, each once', async () => {
  await using fixture = await openPayments()
  const { anomalies } = fixture.store
  const { payment_id, environment } = newDeposit()
  for (let number = 0; number < 30; number += 1) {
    await anomalies.insert({
      merchant_id: `70${number % 3}`,
      anomaly_id: sha256Hex(`${number}`),
      environment,
      payment_id,
      kind: 'amount_differs',
      description: `${number}`,
      created_at: new Date(timeOf(number)),
    })
  }
  const descriptions: string[] = []
  let token = ''
  do {
    const page = await listAnomalies(anomalies, 10, token)
    descriptions.push(...page.anomalies.map(({ description }) => description))
    token = page.next_page_token
  } while (token !== '')
  const numbers = descriptions.map(Number)
  expect([...numbers].sort((one, other) => one - other)).toEqual(Array.from({ length: 30 }, (_, at) => at))
  const times = numbers.map(timeOf)
  expect(times).toEqual([...times].sort((one, other) => other - one))
})
