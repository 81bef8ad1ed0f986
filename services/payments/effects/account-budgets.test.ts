import { expect, test } from '@jest/globals'
import { newDeposit } from '../payment.fixture.ts'
import { bindCreateAtProvider } from './create-at-provider.ts'
import { bindCreateRefund } from './create-refund.ts'
import { bindExpirePayment } from './expire-payment.ts'
import { bindLookUpLate, bindLookUpRefundLate } from './look-up-late.ts'
import { bindPollProvider } from './poll-provider.ts'
import { bindPollRefund } from './poll-refund.ts'
import { bindRepeatCreate } from './repeat-create.ts'
import { bindRepeatRefund } from './repeat-refund.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

// P5
test.each([
  ['creates', 2_500, bindCreateAtProvider],
  ['repeated creates', 128, bindRepeatCreate],
  ['polls', 128, bindPollProvider],
  ['expiries', 128, bindExpirePayment],
  ['late lookups', 32, bindLookUpLate],
  ['refunds', 128, bindCreateRefund],
  ['repeated refunds', 128, bindRepeatRefund],
  ['polls of refunds', 128, bindPollRefund],
  ['late lookups of refunds', 32, bindLookUpRefundLate],
] as const)(
  'the %s of an account that hangs are %d at most, and leave the room of other accounts',
  (_what, max, bind) => {
    const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }))
    const { budget } = bind(deps())
    if (typeof budget !== 'object') throw new Error('one budget is for all effects of the kind')
    const at = (account_id: string) => newDeposit({ attempt: { ...newDeposit().attempt, account_id } })
    const admitted = (account_id: string): number => {
      let count = 0
      while (count <= max && budget.reserve(at(account_id))) count += 1
      return count
    }
    expect([admitted('hanging'), admitted('working')]).toEqual([max, max])
  },
)
