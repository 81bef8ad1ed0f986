import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type AttachmentsFixture, MERCHANT, startAttachments, TEXT } from './attachments.fixture.ts'
import { openAttachmentsStore } from './store/attachments-store.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let fixture: AttachmentsFixture
beforeAll(async () => {
  restoreClock = useClock(clock)
  fixture = await startAttachments({})
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

// F5
test('without a scanner no scan is tried: the file waits for a process that has one', async () => {
  const { id, path } = await fixture.prepare()
  await fixture.put(path, TEXT)
  expect(await fixture.finalize(id)).toBe(AttachmentStatus.SCANNING)
  const { attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
  const scan = async () => {
    const attachment = await attachments.get({
      merchant_id: MERCHANT,
      environment: 'test',
      attachment_id: id,
    })
    return attachment?.effects.find(({ kind }) => kind === 'scan_content')
  }
  const waiting = await eventually(scan, (effect) => effect !== undefined)
  // A sweep postpones what no process takes for seconds; one that could take it would have done so.
  clock.setRate(50)
  const postponed = await eventually(scan, (effect) => effect?.due_at.getTime() !== waiting?.due_at.getTime())
  expect(postponed).toMatchObject({ tries: 0 })
  expect(postponed).not.toHaveProperty('failure')
})
