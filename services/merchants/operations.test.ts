import { expect, test } from '@jest/globals'
import { openTestStore } from '../../test/support/store.ts'
import { skipIssuedIds } from './operations.ts'
import { openIssuedIds } from './store/issued-ids.ts'

test('the ids that may have been issued after a backup are not issued again', async () => {
  await using test_store = await openTestStore()
  const ids = await openIssuedIds(test_store.store)
  expect(await ids.issue('merchant')).toBe(1_001)
  await skipIssuedIds(ids)
  expect(await ids.issue('merchant')).toBe(2_002)
  expect(await ids.issue('route')).toBe(31_001)
  expect(await ids.range('credential')).toEqual({ lowest: 20_001, highest: 21_000 })
})
