import { expect, test } from '@jest/globals'
import { type ResourceList, selectionsOf } from './resource-list.ts'

// S6
test('a list without an index for its filter is refused, and never shown without the filter', () => {
  const list: ResourceList = {
    name: 'refund.list',
    id_field: 'refund_id',
    key_field: 'c_id',
    time_field: 'created_at',
    words: { status: ['pending', 'approved'] },
    restricted: [[]],
    operator_fields: [],
  }
  const filter = { merchant_id: '7001', environment: 'test', only: { status: ['pending'] } } as const
  expect(() => selectionsOf(list, filter)).toThrow(new TypeError('no index has all of status'))
})
