import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { newDeposit } from '../payment.fixture.ts'
import { bindExpirePayment, bindLookUpLate, bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }))
const at = (account_id: string) => newDeposit({ attempt: { ...newDeposit().attempt, account_id } })

// P5
test.each([
  ['creates', 2_500, bindCreateAtProvider, {}],
  ['repeated creates', 128, bindRepeatCreate, {}],
  ['polls', 128, bindPollProvider, {}],
  ['expiries', 128, bindExpirePayment, {}],
  ['late lookups', 32, bindLookUpLate, {}],
  ['refunds', 128, bindCreateAtProvider, { refund_id: 'r' }],
  ['repeated refunds', 128, bindRepeatCreate, { refund_id: 'r' }],
  ['polls of refunds', 128, bindPollProvider, { refund_id: 'r' }],
  ['late lookups of refunds', 32, bindLookUpLate, { refund_id: 'r' }],
] as const)(
  'the %s of an account that hangs are %d at most, and leave the room of other accounts',
  (_what, max, bind, data) => {
    const { kind, lane, budget } = bind(deps())
    const effect = { id: 'e', kind, lane, data, tries: 0, due_at: now() }
    const admits = typeof budget === 'function' ? budget(effect) : budget
    const admitted = (account_id: string): number => {
      let count = 0
      while (count <= max && admits?.reserve(at(account_id))) count += 1
      return count
    }
    expect([admitted('hanging'), admitted('working')]).toEqual([max, max])
    // Payments and refunds leave each other their room.
    if (typeof budget !== 'function') return
    const others = 'refund_id' in data ? {} : { refund_id: 'r' }
    expect(budget({ ...effect, data: others }).reserve(at('hanging'))).toBeDefined()
  },
)
