import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { CLEAN, type ScriptedClamd, startScriptedClamd } from '../../test/support/scripted-clamd.ts'
import { type AttachmentsFixture, startAttachments, TEXT } from './attachments.fixture.ts'
import { QUOTA_LIMITS } from './domain/upload-quota.ts'
import { operations } from './operations.ts'
import { type AttachmentsStore, openAttachmentsStore } from './store/attachments-store.ts'
import { keepPlace, reservePlace } from './use-cases/upload-places.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let clamd: ScriptedClamd
let fixture: AttachmentsFixture
let store: AttachmentsStore
beforeAll(async () => {
  restoreClock = useClock(clock)
  clamd = await startScriptedClamd()
  fixture = await startAttachments({ MULTIHUB_SCANNER: clamd.address })
  store = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
})
afterAll(async () => {
  await clamd.close()
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

let merchant_id: string
let merchants = 0
beforeEach(() => {
  merchants += 1
  merchant_id = `71${merchants}`
  clamd.behave((socket) => void socket.destroy())
  clock.setRate(1)
})

const SESSION_MS = 15 * 60_000
const keyOf = (attachment_id: string) => ({ merchant_id, environment: 'test', attachment_id })
const quotaKey = () => ({ merchant_id, environment: 'test', sender: 'merchant' })

async function scanning(): Promise<string> {
  const { id, path } = await fixture.prepare({ merchant_id })
  await fixture.put(path, TEXT)
  expect(await fixture.finalize(id, { merchant_id })).toBe(AttachmentStatus.SCANNING)
  return id
}

const scanningFiles = (count: number) => Promise.all(Array.from({ length: count }, () => scanning()))

/** The ids of the files that have a place. */
const places = async () =>
  ((await store.upload_quotas.get(quotaKey()))?.places ?? []).map(({ attachment_id }) => attachment_id)

// F4
describe('the place of a file that is scanned', () => {
  test('is kept, also after the end of its session, and the refusal says when to try again', async () => {
    await scanningFiles(QUOTA_LIMITS.places)
    for (const step_ms of [0, SESSION_MS]) {
      clock.stepWall(step_ms)
      await expect(fixture.prepare({ merchant_id })).rejects.toMatchObject({
        code: 1000,
        http: 429,
        details: { bucket: 'attachment_sessions', limit: 20, retry_after_seconds: 60 },
      })
    }
  })

  test.each([
    ['ready', CLEAN, AttachmentStatus.READY],
    ['rejected', 'stream: Eicar FOUND\0', AttachmentStatus.REJECTED],
  ])('is free when the file is %s', async (_what, response, status) => {
    const [id = ''] = await scanningFiles(1)
    expect(await places()).toEqual([id])
    clamd.behave((socket) => void socket.end(response))
    clock.setRate(50)
    await fixture.untilStatus(id, status, merchant_id)
    await eventually(places, (ids) => ids?.length === 0)
  })

  test('is free when the finalize or the inspection rejects the file', async () => {
    const content = Buffer.from('\x89PNG\r\n\x1a\n and no chunks', 'latin1')
    for (const options of [{ sha256: '0'.repeat(64) }, { content, mime_type: 'image/png' }]) {
      const { id, path } = await fixture.prepare({ merchant_id, ...options })
      await fixture.put(path, options.content ?? TEXT)
      await fixture.finalize(id, { merchant_id }).catch(() => {})
      await fixture.untilStatus(id, AttachmentStatus.REJECTED, merchant_id)
    }
    await eventually(places, (ids) => ids?.length === 0)
  })

  test('is free at the end of the session after a crash before the finalize was stored', async () => {
    const { id, path } = await fixture.prepare({ merchant_id })
    await fixture.put(path, TEXT)
    await keepPlaces(([session]) => session !== undefined)
    clock.stepWall(SESSION_MS)
    await fixture.untilStatus(id, AttachmentStatus.EXPIRED, merchant_id)
    clock.setRate(50)
    await eventually(places, (ids) => ids?.length === 0)
    expect((await store.attachments.get(keyOf(id)))?.status).toBe('expired')
  })

  test('is free for the next file when a restore left it behind', async () => {
    const { id, path } = await fixture.prepare({ merchant_id })
    await fixture.put(path, TEXT)
    const lost = Array.from({ length: 18 }, (_, number) => `lost-${number}`)
    await scanning()
    await keepPlaces(() => true, lost)
    const { id: next } = await fixture.prepare({ merchant_id })
    const left = await places()
    expect(left).toHaveLength(3)
    expect(left).toEqual(expect.arrayContaining([id, next]))
  })

  // F5.4
  test('is free when a restore has brought the file back without its bytes', async () => {
    const id = await scanning()
    const blob_id = (await store.attachments.get(keyOf(id)))?.upload?.blob_id ?? ''
    const isNeeded = await operations.openBlobCheck?.(fixture.roles.storeOf('attachments'))
    expect(await Promise.all([blob_id, `${id}-other`, 'lost-1'].map((one) => isNeeded?.(one)))).toEqual([
      true,
      false,
      false,
    ])
    await store.files.delete(blob_id)
    clock.stepWall(SESSION_MS)
    clock.setRate(50)
    await fixture.untilStatus(id, AttachmentStatus.REJECTED, merchant_id)
    await eventually(places, (ids) => ids?.length === 0)
    expect((await store.attachments.get(keyOf(id)))?.reason).toBe('sha256_mismatch')
  })

  test('is not kept after the end of the session, also when a repeated prepare has taken it again', async () => {
    const { id, path } = await fixture.prepare({ merchant_id })
    await fixture.put(path, TEXT)
    const attachment = await store.attachments.get(keyOf(id))
    if (attachment === undefined) throw new Error('no attachment')
    clock.stepWall(SESSION_MS)
    const { size_bytes } = attachment
    const expires_at = new Date(clock.now_ms() + SESSION_MS)
    await reservePlace(store, attachment, { attachment_id: id, size_bytes, expires_at })
    expect(await keepPlace(store.upload_quotas, attachment)).toBe(false)
  })

  test('is what a finalize needs: without it the session is over', async () => {
    const { id, path } = await fixture.prepare({ merchant_id })
    await fixture.put(path, TEXT)
    const quota = await store.upload_quotas.get(quotaKey())
    if (quota === undefined) throw new Error('no quota')
    const { version, ...rest } = quota
    await store.upload_quotas.replace({ ...rest, places: [] }, version)
    await expect(fixture.finalize(id, { merchant_id })).rejects.toMatchObject({ code: 13003 })
    expect((await store.attachments.get(keyOf(id)))?.status).toBe('uploaded')
  })
})

/** Marks the places that are there as kept, and adds those of files that do not exist. */
async function keepPlaces(
  isMarked: (places: readonly object[]) => boolean,
  lost: readonly string[] = [],
): Promise<void> {
  const quota = await store.upload_quotas.get(quotaKey())
  if (quota === undefined || !isMarked(quota.places)) throw new Error('no place to keep')
  const { version, places, ...rest } = quota
  const more = lost.map((attachment_id) => ({ attachment_id, size_bytes: 1, expires_at: new Date() }))
  await store.upload_quotas.replace(
    { ...rest, places: [...places, ...more].map((place) => ({ ...place, is_kept: true as const })) },
    version,
  )
}
