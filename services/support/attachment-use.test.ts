import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { fileUsers } from './service.ts'
import { openSupportStore } from './store/support-store.ts'
import { isAttachmentUsed } from './use-cases/attachment-use.ts'

let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore()
})
afterAll(async () => opened[Symbol.asyncDispose]())

// F7, R9: a file that is freed by mistake could be used twice.
test.each([
  { used_by: 'batch:1', ticket_id: '', is_used: true, why: 'its kind is that of another release' },
  { used_by: '1', ticket_id: '', is_used: true, why: 'it has no kind' },
  { used_by: 'comment:1', ticket_id: '2', is_used: false, why: 'it was never stored' },
  { used_by: 'ticket:1', ticket_id: '', is_used: false, why: 'it was never stored' },
  { used_by: 'chargeback:1', ticket_id: '', is_used: false, why: 'it was never stored' },
])('whether $used_by with the ticket "$ticket_id" uses its file: $is_used, because $why', async (claim) => {
  const { used_by, ticket_id, is_used } = claim
  const owner = { merchant_id: '7001', environment: 'test' } as const
  const store = await openSupportStore(opened.store)
  expect(await isAttachmentUsed(fileUsers(store), { ...owner, attachment_id: 'a', used_by, ticket_id })).toBe(
    is_used,
  )
})
