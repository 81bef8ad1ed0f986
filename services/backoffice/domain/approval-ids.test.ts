import { expect, test } from '@jest/globals'
import { type ChangedByApprovals, isRepetition, withApproval } from './approval-ids.ts'

test('a document keeps its last 16 approvals, also through changes without one', () => {
  const ids = Array.from({ length: 20 }, (_, number) => `approval-${number}`)
  let document: ChangedByApprovals = {}
  for (const id of ids) document = withApproval(withApproval(document, id), undefined)
  expect(document).toEqual({ approval_ids: ids.slice(4) })
  expect([ids[3], ids[4], undefined].map((id) => isRepetition(document, id))).toEqual([false, true, false])
})
