import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { openTestStore } from '../../../test/support/store.ts'
import { storeCommentEffect } from '../comments/domain/comment.ts'
import {
  addCommentOnce,
  type CommentDeps,
  listAllComments,
  listComments,
} from '../comments/use-cases/comments.ts'
import { openSupportStore, type SupportStore } from '../store/support-store.ts'
import { startSupportRole } from '../support-role.fixture.ts'
import { newRefund, type Refund } from './domain/refund.ts'
import { keyOfRefund } from './store/refunds.ts'
import { refundComments } from './use-cases/comment-refund.ts'
import { getRefund } from './use-cases/find-refund.ts'

const OWNER = { merchant_id: '7001', environment: 'test' } as const

const newRefundAt = (at: Date): Refund => {
  const refund = {
    ...OWNER,
    refund_id: 'r-1',
    c_id: 'order-1',
    payment: { payment_id: 'p', c_id: 'c', h_id: 'h' },
    amount: 5n,
    currency: 'INR',
  }
  return newRefund({ refund, number: 1, status: 'pending', reason: '', at })
}

/** Stores a refund whose effects nothing has run. */
async function storeRefund({ refunds }: SupportStore): Promise<void> {
  await refunds.insert(newRefundAt(new Date()))
}

/** The comments of a process that only its writes run. */
function commentsOf(store: SupportStore): CommentDeps<Refund> & { readonly stop: () => Promise<void> } {
  const runner = createEffectRunner<Refund>({
    name: 'refunds',
    collection: store.refunds,
    clock_guard: trustedClock,
    runs: lastingRun,
    keyOf: keyOfRefund,
    effects: [],
  })
  const comments = refundComments({
    refunds: store.refunds,
    comments: store.refund_comments,
    runner,
    idempotency: createIdempotency(store.idempotency_records, trustedClock),
    keys: testKeys(),
    attachments: {
      claimAttachments: () => Promise.reject(new Error('comments of refunds have no files')),
      releaseAttachments: () => Promise.reject(new Error('comments of refunds have no files')),
    },
  })
  return { ...comments, stop: runner.stop }
}

/** Accepts a comment in a process that dies before it has stored it. */
async function acceptAndDie(store: SupportStore): Promise<void> {
  const insert = async (): Promise<never> => {
    throw new Unavailable('the process has died')
  }
  const deps = commentsOf({ ...store, refund_comments: { ...store.refund_comments, insert } })
  const comment = {
    comment_id: 'one',
    author: 'merchant',
    body: 'when?',
    attachments: [],
    is_internal: false,
  } as const
  await expect(addCommentOnce(deps, () => deps.get('r-1'), comment)).rejects.toThrow('died')
  await deps.stop()
}

// S6: otherwise it would appear later, before a cursor that was given out.
test.each(['merchant', 'operator'])(
  'the list of the %s has a comment that a crashed process has not stored',
  async (reader) => {
    await using opened = await openTestStore()
    const store = await openSupportStore(opened.store)
    await storeRefund(store)
    await acceptAndDie(store)
    const [stored] = await store.refunds.find('list', { equals: [OWNER.merchant_id, 'test'] }, { limit: 1 })
    expect(stored?.effects.some((effect) => storeCommentEffect.matches(effect))).toBe(true)
    const deps = commentsOf(store)
    const { items } =
      reader === 'merchant'
        ? await listComments(deps, { ...OWNER, by: 'h_id', id: 'r-1' }, { limit: 0, cursor: '' })
        : await listAllComments(deps, 'r-1', { page_size: 0, page_token: '' })
    expect(items.map(({ comment_id }) => comment_id)).toEqual(['one'])
    await deps.stop()
  },
)

// S6
test('a comment that a crashed process has not stored is stored by another one', async () => {
  await using support = await startSupportRole()
  await storeRefund(support.store)
  await acceptAndDie(support.store)
  const stored = await eventually(
    async () => {
      const range = { equals: [OWNER.merchant_id, 'test', 'r-1'] }
      return support.store.refund_comments.find('by_created', range, { limit: 2 })
    },
    (comments) => comments?.length === 1,
  )
  expect(stored[0]).toMatchObject({ comment_id: 'one', body: 'when?' })
  await eventually(
    () => getRefund(support.store.refunds, 'r-1'),
    (refund) => refund?.effects.some((effect) => storeCommentEffect.matches(effect)) === false,
  )
})
