import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { AttachmentLink } from '#lib/patterns/attachment-link.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Blobs } from '#lib/store/store.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { type AttachmentsFixture, MERCHANT, startAttachments, TEXT } from '../attachments.fixture.ts'
import type { Attachment } from '../domain/attachment.ts'
import { deleteBytesEffect } from '../domain/attachment-effects.ts'
import { keyOfAttachment, openAttachmentsStore } from '../store/attachments-store.ts'
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
// Time limits of calls would end early at the rate of another test.
beforeEach(() => clock.setRate(1))

/** How long an upload has its lease without a renewal. */
const LEASE_MS = 15_000
/** Bytes that may arrive late are deleted a minute after the lease of their upload. */
const LATE_BYTES_DELETED_MS = 76_000

/** What the test uses of the service: its collections, and a runner that runs no effects itself. */
async function openDeps() {
  const { attachments, files } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
  const runner = createEffectRunner<Attachment>({
    name: 'attachments',
    collection: attachments,
    clock_guard: trustedClock,
    runs: lastingRun,
    keyOf: keyOfAttachment,
    effects: [],
  })
  return { attachments, files, runner }
}

async function* text(): AsyncGenerator<Uint8Array> {
  yield TEXT
}

function linkOf(attachment_id: string): AttachmentLink {
  return {
    merchant_id: MERCHANT,
    environment: 'test',
    attachment_id,
    mime_type: 'text/plain',
    size_bytes: TEXT.length,
    expires_at: new Date(clock.now_ms() + 60_000),
  }
}

// F2
test('an upload keeps its lease after a renewal that failed, because the next one follows', async () => {
  const { id, path } = await fixture.prepare()
  const { attachments, files, runner } = await openDeps()
  // The first write takes the lease, and the second one is the renewal that fails.
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
  const link = linkOf(id)
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
  // The lease of the first write would be over by now.
  clock.stepWall(14_000)
  expect(JSON.parse((await fixture.put(path, TEXT)).body.toString())).toMatchObject({ code: 13003 })
  rest.resolve()
  expect(await upload).toMatchObject({ status: 'uploaded' })
  await runner.stop()
})

// F2
test('the bytes of an upload that cannot be completed are deleted, also when its process dies before it has', async () => {
  const { id, path } = await fixture.prepare()
  const { files, runner } = await openDeps()
  const failing: EffectRunner<Attachment> = {
    ...runner,
    update: (key, change, found) =>
      runner.update(
        key,
        (current) => {
          const changed = change(current)
          if (changed?.status === 'uploaded') throw new Unavailable('the test made the store unavailable')
          return changed
        },
        found,
      ),
  }
  let blob_id = ''
  const dying: Blobs = {
    ...files,
    async put(name, bytes) {
      blob_id = name
      return files.put(name, bytes)
    },
    async delete() {
      throw new Unavailable('the process ended')
    },
  }
  clock.stopWall()
  const upload = receiveUpload({ files: dying, runner: failing }, linkOf(id), text())
  await expect(upload).rejects.toThrow('the test made the store unavailable')
  expect(await files.get(blob_id)).toBeDefined()
  expect((await fixture.put(path, TEXT)).status).toBe(200)
  clock.stepWall(LATE_BYTES_DELETED_MS)
  clock.setRate(50)
  await eventually(
    () => files.get(blob_id),
    (kept) => kept === undefined,
  )
  await runner.stop()
})

// F2
test('an upload whose completion has no known result keeps its bytes when the attachment has them', async () => {
  const { id } = await fixture.prepare()
  const { attachments, files, runner } = await openDeps()
  let is_lost = false
  const failing: EffectRunner<Attachment> = {
    ...runner,
    async update(...call) {
      const stored = await runner.update(...call)
      if (is_lost || stored?.status !== 'uploaded') return stored
      is_lost = true
      throw new Unavailable('the response was lost')
    },
  }
  const link = linkOf(id)
  await expect(receiveUpload({ files, runner: failing }, link, text())).rejects.toThrow('was lost')
  const { upload } = (await attachments.get(keyOfAttachment(link))) ?? {}
  expect(await files.get(upload?.blob_id ?? '')).toBeDefined()
  expect(await fixture.finalize(id)).toBe(AttachmentStatus.SCANNING)
  await runner.stop()
})

// F2
test('an upload that goes on long after another one has its lease leaves nothing', async () => {
  const { id, path } = await fixture.prepare()
  const { attachments, files, runner } = await openDeps()
  clock.stopWall()
  clock.setRate(50)
  const link = linkOf(id)
  let blob_id = ''
  let is_paused = false
  const paused: EffectRunner<Attachment> = {
    ...runner,
    async update(...call) {
      if (is_paused) throw new Unavailable('the process is paused')
      return runner.update(...call)
    },
  }
  const late: Blobs = {
    ...files,
    async put(name, bytes) {
      blob_id = name
      is_paused = true
      clock.stepWall(LEASE_MS)
      expect((await fixture.put(path, TEXT)).status).toBe(200)
      clock.stepWall(LATE_BYTES_DELETED_MS)
      // The bytes were deleted before they are there.
      await eventually(
        () => attachments.get(keyOfAttachment(link)),
        (attachment) => attachment?.effects.some(deleteBytesEffect.matches) === false,
      )
      is_paused = false
      return files.put(name, bytes)
    },
  }
  const upload = receiveUpload({ files: late, runner: paused }, link, text())
  await expect(upload).rejects.toMatchObject({ code: 13003 })
  expect(await files.get(blob_id)).toBeUndefined()
  await runner.stop()
})
