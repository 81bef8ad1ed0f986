import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { fileOwners } from './service.ts'
import { openSupportStore } from './store/support-store.ts'
import { isAttachmentUsed } from './use-cases/attachment-use.ts'

let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore()
})
afterAll(async () => opened[Symbol.asyncDispose]())

// F7, R9: a file that is freed by mistake could be used twice.
test.each([
  { claim_owner: 'batch:1', ticket_id: '', is_used: true, why: 'its kind is that of another release' },
  { claim_owner: '1', ticket_id: '', is_used: true, why: 'it has no kind' },
  { claim_owner: 'comment:1', ticket_id: '2', is_used: false, why: 'it was never stored' },
  { claim_owner: 'ticket:1', ticket_id: '', is_used: false, why: 'it was never stored' },
  { claim_owner: 'chargeback:1', ticket_id: '', is_used: false, why: 'it was never stored' },
])(
  'whether $claim_owner with the ticket "$ticket_id" uses its file: $is_used, because $why',
  async (claim) => {
    const { claim_owner, ticket_id, is_used } = claim
    const owner = { merchant_id: '7001', environment: 'test' } as const
    const store = await openSupportStore(opened.store)
    expect(
      await isAttachmentUsed(fileOwners(store), { ...owner, attachment_id: 'a', claim_owner, ticket_id }),
    ).toBe(is_used)
  },
)
