import { expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { createPerAccountRate } from './receive-provider-callback.ts'

test('admits its maximum per account and interval', async () => {
  using clock = installManualClock()
  const mayAct = createPerAccountRate(2, 1_000)
  const admit = (id: string, times: number) => Array.from({ length: times }, () => mayAct(id))
  expect(admit('a', 3)).toEqual([true, true, false])
  expect(admit('b', 3)).toEqual([true, true, false])
  await clock.advance(999)
  expect(mayAct('a')).toBe(false)
  await clock.advance(1)
  expect(admit('a', 3)).toEqual([true, true, false])
})
