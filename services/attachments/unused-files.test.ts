import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AttachmentPurpose, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { now, useClock } from '#lib/base/time.ts'
import { DOWNLOAD_PATH } from '#lib/contract/attachments.ts'
import { INTERNAL_DOWNLOAD_PATH } from '#lib/patterns/attachment-transfer.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type AttachmentsFixture, MERCHANT, startAttachments, transfer } from './attachments.fixture.ts'
import { openAttachmentsStore } from './store/attachments-store.ts'

let fixture: AttachmentsFixture
let clock: ReturnType<typeof createAdjustableClock>
let restoreClock: () => void
beforeAll(async () => {
  fixture = await startAttachments()
})
beforeEach(() => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  clock.stopWall()
})
afterEach(() => restoreClock())
afterAll(async () => fixture[Symbol.asyncDispose]())

const DAY_MS = 86_400_000
const identify = (id: string) => ({ merchantId: MERCHANT, environment: Environment.TEST, attachmentId: id })
const claim = (id: string, used_by: string) =>
  fixture.support.claimAttachments({
    ...identify(id),
    purpose: AttachmentPurpose.TICKET,
    attachmentIds: [id],
    usedBy: used_by,
    callId: 'call',
  })
const statusOf = async (id: string) => (await fixture.gateway.getAttachment(identify(id))).attachment?.status

/** Waits until the service has nothing more to do for a file, and returns what is stored of it. */
async function settled(id: string) {
  const { attachments, files } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
  const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id } as const
  const stored = await eventually(
    () => attachments.get(key),
    (attachment) =>
      attachment?.status === 'expired' &&
      attachment.effects.every(({ kind, due_at }) => kind === 'forget_name' && due_at > now()),
  )
  return { stored, files }
}

// F2
describe('a ready file', () => {
  test('that nothing uses expires after 24 hours to the millisecond, and its bytes are deleted', async () => {
    const id = await fixture.ready()
    const { attachments, files } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id }
    const blob_id = (await attachments.get(key))?.upload?.blob_id ?? ''
    expect(await files.get(blob_id)).toBeDefined()
    clock.stepWall(DAY_MS - 1)
    const { attachment, download } = await fixture.gateway.getAttachment(identify(id))
    expect(attachment?.status).toBe(AttachmentStatus.READY)
    clock.stepWall(1)
    expect(await statusOf(id)).toBe(AttachmentStatus.EXPIRED)
    const path = INTERNAL_DOWNLOAD_PATH + (download?.path ?? '').slice(DOWNLOAD_PATH.length)
    const { body } = await transfer('GET', fixture.roles.urls['attachments_url'] ?? '', path)
    expect(JSON.parse(body.toString())).toMatchObject({ code: 13001 })
    await expect(claim(id, `ticket:${randomUUID()}`)).rejects.toMatchObject({ code: 13002 })
    clock.stepWall(1_000)
    const { stored } = await settled(id)
    expect(stored).not.toHaveProperty('upload')
    expect(await files.get(blob_id)).toBeUndefined()
  })

  // F2, O11
  test('loses its name a day after it has expired', async () => {
    const id = await fixture.ready()
    clock.stepWall(DAY_MS + 1_000)
    const nameOf = async () => (await settled(id)).stored?.name
    expect(await nameOf()).not.toBe('erased')
    clock.stepWall(DAY_MS + 1_000)
    await eventually(nameOf, (name) => name === 'erased')
    expect((await settled(id)).stored?.effects).toEqual([])
  })

  test('expires also after crashes that would use up the tries of another effect', async () => {
    const id = await fixture.ready()
    const { attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id }
    const stored = await attachments.get(key)
    if (!stored) throw new Error('the file is gone')
    const { version, ...attachment } = stored
    const effects = attachment.effects.map((effect) => ({ ...effect, tries: 100_000 }))
    expect(await attachments.replace({ ...attachment, effects }, version)).toBeTruthy()
    clock.stepWall(DAY_MS + 1_000)
    await settled(id)
  })

  test('that a ticket uses stays', async () => {
    const [used, unused] = [await fixture.ready(), await fixture.ready()]
    clock.stepWall(DAY_MS - 1)
    await claim(used, 'ticket:1')
    clock.stepWall(DAY_MS)
    await settled(unused)
    expect(await statusOf(used)).toBe(AttachmentStatus.READY)
  })

  test('whose ticket was refused later than that expires then', async () => {
    const id = await fixture.ready()
    const witness = await fixture.ready()
    await claim(id, 'ticket:2')
    clock.stepWall(2 * DAY_MS)
    // The effect that looked after a day found the claim.
    await settled(witness)
    await fixture.support.releaseAttachments({
      ...identify(id),
      attachmentIds: [id],
      usedBy: 'ticket:2',
      callId: 'call',
    })
    expect(await statusOf(id)).toBe(AttachmentStatus.EXPIRED)
    // The release may have leased the effect at a moment when its process did not trust the clock that has just jumped.
    clock.stepWall(60_000)
    await settled(id)
  })
})
