import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { AttachmentLink } from '#lib/patterns/attachment-link.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { useClock } from '#lib/platform/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type AttachmentsFixture, MERCHANT, startAttachments, TEXT } from '../attachments.fixture.ts'
import type { Attachment } from '../domain/attachment.ts'
import { keyOfAttachment } from '../store/attachments.ts'
import { openAttachmentsStore } from '../store/attachments-store.ts'
import { receiveUpload } from './receive-upload.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let fixture: AttachmentsFixture
beforeAll(async () => {
  restoreClock = useClock(clock)
  fixture = await startAttachments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

/** How long a place is kept without a renewal. */
const LEASE_MS = 15_000

// F2
test('an upload keeps its place after a renewal that failed, because the next one follows', async () => {
  const { id, path } = await fixture.prepare()
  const { attachments, files } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
  const runner = createEffectRunner<Attachment>({
    name: 'attachments',
    collection: attachments,
    clock_guard: trustedClock,
    keyOf: keyOfAttachment,
    effects: [],
  })
  // The first write takes the place, and the second one is the renewal that fails.
  let writes = 0
  const failing: EffectRunner<Attachment> = {
    ...runner,
    async update(...call) {
      if (writes === 1) {
        writes += 1
        throw new Unavailable('the test made the store unavailable')
      }
      const stored = await runner.update(...call)
      writes += 1
      return stored
    },
  }
  const rest = Promise.withResolvers<void>()
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield TEXT.subarray(0, 3)
    await rest.promise
    yield TEXT.subarray(3)
  }
  clock.stopWall()
  clock.setRate(50)
  const link: AttachmentLink = {
    merchant_id: MERCHANT,
    environment: 'test',
    attachment_id: id,
    mime_type: 'text/plain',
    size_bytes: TEXT.length,
    expires_at: new Date(clock.now_ms() + 60_000),
  }
  const upload = receiveUpload({ files, runner: failing }, link, bytes())
  await eventually(
    async () => writes,
    (count = 0) => count >= 2,
  )
  clock.stepWall(14_000)
  await eventually(
    () => attachments.get(keyOfAttachment(link)),
    (attachment) => attachment?.writer?.until.getTime() === clock.now_ms() + LEASE_MS,
  )
  // The place that was taken at first would be free by now.
  clock.stepWall(14_000)
  expect(JSON.parse((await fixture.put(path, TEXT)).body.toString())).toMatchObject({ code: 13003 })
  rest.resolve()
  expect(await upload).toMatchObject({ status: 'uploaded' })
  await runner.stop()
})
