import { createHash, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { AttachmentPurpose, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { ATTACHMENT_MAX_BYTES, DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { INTERNAL_DOWNLOAD_PATH, INTERNAL_UPLOAD_PATH } from '#lib/patterns/attachment-transfer.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  type AttachmentsFixture,
  MERCHANT,
  sha256Of,
  startAttachments,
  TEXT,
  transfer,
} from './attachments.fixture.ts'
import { openAttachmentsStore } from './store/attachments-store.ts'

let fixture: AttachmentsFixture
let restoreClock: (() => void) | undefined
beforeAll(async () => {
  fixture = await startAttachments()
})
afterEach(() => restoreClock?.())
afterAll(async () => fixture[Symbol.asyncDispose]())

const MINUTE_MS = 60_000
const merchant = (): string => `m-${randomUUID()}`

function adjustClock() {
  const clock = createAdjustableClock()
  const restore = useClock(clock)
  restoreClock = () => {
    restore()
    restoreClock = undefined
  }
  return clock
}

const refusalOf = (body: Buffer) => JSON.parse(body.toString())

// F1, F2
describe('an upload session', () => {
  test('takes the bytes, and the same bytes again, until it is finalized', async () => {
    const { id, path } = await fixture.prepare()
    expect((await fixture.put(path, TEXT)).status).toBe(200)
    expect((await fixture.put(path, TEXT)).status).toBe(200)
    expect(await fixture.finalize(id)).toBe(AttachmentStatus.SCANNING)
    await fixture.untilStatus(id, AttachmentStatus.READY)
    expect(refusalOf((await fixture.put(path, TEXT)).body)).toMatchObject({ code: 1003 })
  })

  test('refuses too few and too many bytes, and can be begun again', async () => {
    const { id, path } = await fixture.prepare()
    expect(refusalOf((await fixture.put(path, TEXT.subarray(1))).body)).toMatchObject({ code: 9000 })
    expect(refusalOf((await fixture.put(path, Buffer.concat([TEXT, TEXT]))).body)).toMatchObject({
      code: 9000,
    })
    expect(refusalOf((await fixture.put(path, Buffer.alloc(0))).body)).toMatchObject({ code: 9000 })
    await expect(fixture.finalize(id)).rejects.toMatchObject({
      code: 13003,
      details: { status: 'awaiting_upload' },
    })
    expect((await fixture.put(path, TEXT)).status).toBe(200)
    await fixture.finalize(id)
  })

  test('replaces an upload by the next one, and keeps no bytes that nothing refers to', async () => {
    const own = merchant()
    const content = Buffer.from('the right one')
    const { id, path } = await fixture.prepare({ content, merchant_id: own })
    await fixture.put(path, Buffer.from('the wrong one'))
    const { files, attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const key = { merchant_id: own, environment: 'test', attachment_id: id }
    const replaced = (await attachments.get(key))?.upload?.blob_id ?? ''
    await fixture.put(path, content)
    await fixture.finalize(id, { merchant_id: own })
    await fixture.untilStatus(id, AttachmentStatus.READY, own)
    await eventually(
      () => files.get(replaced),
      (bytes) => bytes === undefined,
    )
    const kept = (await attachments.get(key))?.upload?.blob_id ?? ''
    const hash = createHash('sha256')
    for await (const chunk of (await files.get(kept)) ?? []) hash.update(chunk)
    expect(hash.digest('hex')).toBe(sha256Of(content))
  })

  test('has one writer, and the next one may begin when its connection breaks', async () => {
    const content = Buffer.alloc(100_000, 'text ')
    const { id, path } = await fixture.prepare({ content })
    const { attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id }
    const url = new URL(fixture.roles.urls['attachments_url'] ?? '')
    const slow = connect(Number(url.port), url.hostname)
    slow.write(
      `PUT ${INTERNAL_UPLOAD_PATH}${path.slice(UPLOAD_PATH.length)} HTTP/1.1\r\nHost: a\r\nContent-Length: ${content.length}\r\n\r\n`,
    )
    slow.write(content.subarray(0, 10))
    await eventually(
      () => attachments.get(key),
      (attachment) => attachment?.writer !== undefined,
    )
    expect(refusalOf((await fixture.put(path, content)).body)).toMatchObject({ code: 13003 })
    slow.destroy()
    await eventually(
      () => fixture.put(path, content),
      (response) => response?.status === 200,
    )
  })

  test('refuses an upload that lost its lease before all of its bytes have arrived', async () => {
    const clock = adjustClock()
    clock.stopWall()
    const content = Buffer.alloc(100_000, 'text ')
    const { id, path } = await fixture.prepare({ content })
    // The lease is renewed every 5 seconds.
    clock.setRate(50)
    const { attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id }
    const url = new URL(fixture.roles.urls['attachments_url'] ?? '')
    const slow = connect(Number(url.port), url.hostname)
    let response = ''
    slow.on('data', (chunk: Buffer) => {
      response += chunk.toString()
    })
    slow.write(
      `PUT ${INTERNAL_UPLOAD_PATH}${path.slice(UPLOAD_PATH.length)} HTTP/1.1\r\nHost: a\r\nContent-Length: ${content.length}\r\n\r\n`,
    )
    await eventually(
      () => attachments.get(key),
      (attachment) => attachment?.writer !== undefined,
    )
    await eventually(
      async () => {
        clock.stepWall(15_000)
        return fixture.put(path, content)
      },
      (put) => put?.status === 200,
    )
    let sent = 0
    await eventually(
      async () => {
        sent += slow.write('x') ? 1 : 0
        return response
      },
      (text) => text?.includes('13003') === true,
    )
    expect(sent).toBeLessThan(content.length)
    slow.destroy()
  })

  test('of the same key is opened once, and shows the file as it is by then', async () => {
    const operation_id = randomUUID()
    const sessions = await Promise.all([1, 2, 3].map(() => fixture.prepare({ operation_id })))
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(1)
    for (const { path } of sessions) expect((await fixture.put(path, TEXT)).status).toBe(200)
    expect(await fixture.prepare({ operation_id })).toMatchObject({ status: AttachmentStatus.UPLOADED })
    const { idempotency_records } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const record = await idempotency_records.get({
      merchant_id: MERCHANT,
      environment: 'test',
      method: 'attachment.prepare',
      key: operation_id,
    })
    // The id alone: everything else is shown as it is by then.
    expect(Buffer.from(record?.result ?? []).toString()).toBe(sessions[0]?.id)
    await expect(fixture.prepare({ operation_id, name: 'other.txt' })).rejects.toMatchObject({ code: 1013 })
  })

  test('ends after 15 minutes to the millisecond, its bytes are deleted and its place is free', async () => {
    const clock = adjustClock()
    const own = merchant()
    clock.stopWall()
    const { id, path } = await fixture.prepare({ merchant_id: own })
    await fixture.put(path, TEXT)
    const { files, attachments, upload_quotas } = await openAttachmentsStore(
      fixture.roles.storeOf('attachments'),
    )
    const key = { merchant_id: own, environment: 'test', attachment_id: id }
    const blob_id = (await attachments.get(key))?.upload?.blob_id ?? ''
    clock.stepWall(15 * MINUTE_MS - 1)
    expect((await fixture.put(path, TEXT)).status).toBe(200)
    const last = (await attachments.get(key))?.upload?.blob_id ?? ''
    clock.stepWall(1)
    expect(refusalOf((await fixture.put(path, TEXT)).body)).toMatchObject({ code: 13002 })
    await expect(fixture.finalize(id, { merchant_id: own })).rejects.toMatchObject({ code: 13002 })
    await eventually(
      () => attachments.get(key),
      (attachment) =>
        attachment?.status === 'expired' && attachment.effects.every(({ kind }) => kind === 'forget_name'),
    )
    expect([await files.get(blob_id), await files.get(last)]).toEqual([undefined, undefined])
    const quota = await upload_quotas.get({ merchant_id: own, environment: 'test', sender: 'merchant' })
    expect(quota?.places).toEqual([])
  })
})

// F4
describe('the limits of a merchant', () => {
  test('are 20 open sessions, however many are opened at once, and a finished one makes room', async () => {
    const own = merchant()
    const results = await Promise.allSettled(
      Array.from({ length: 25 }, () => fixture.prepare({ merchant_id: own })),
    )
    const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(opened).toHaveLength(20)
    for (const result of results.filter(({ status }) => status === 'rejected'))
      expect(result).toMatchObject({
        reason: { code: 1000, http: 429, details: { bucket: 'attachment_sessions', limit: 20 } },
      })
    const { id = '', path = '' } = opened[0] ?? {}
    await fixture.put(path, TEXT)
    await fixture.finalize(id, { merchant_id: own })
    // Its place is free when it is ready.
    await eventually(
      () => fixture.prepare({ merchant_id: own }).catch(() => undefined),
      (session) => session !== undefined,
    )
    await expect(fixture.prepare({ merchant_id: own })).rejects.toMatchObject({ code: 1000 })
    // Other merchants and the operator have limits of their own.
    await fixture.prepare({ merchant_id: merchant() })
    await prepareEvidence(own)
  })

  test('are 100 MiB of unfinished bytes', async () => {
    const own = merchant()
    const content = Buffer.alloc(ATTACHMENT_MAX_BYTES)
    for (let number = 0; number < 10; number += 1) await fixture.prepare({ merchant_id: own, content })
    await expect(fixture.prepare({ merchant_id: own })).rejects.toMatchObject({
      code: 1000,
      http: 429,
      details: { bucket: 'attachment_bytes' },
    })
  })

  test('are given back by sessions that expired', async () => {
    const clock = adjustClock()
    const own = merchant()
    for (let number = 0; number < 20; number += 1) await fixture.prepare({ merchant_id: own })
    clock.stepWall(15 * MINUTE_MS)
    await fixture.prepare({ merchant_id: own })
  })
})

// F3
describe('a finalize', () => {
  test('rejects bytes with another digest or another type, and deletes them', async () => {
    const { attachments, files } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
    const cases = [
      { content: TEXT, sha256: '0'.repeat(64), reason: 'sha256_mismatch' },
      { content: TEXT, mime_type: 'application/pdf', reason: 'wrong_type' },
      { content: Buffer.from('%PDF-1.7 as a text'), reason: 'wrong_type' },
    ]
    for (const { reason, ...options } of cases) {
      const { id, path } = await fixture.prepare(options)
      await fixture.put(path, options.content)
      const key = { merchant_id: MERCHANT, environment: 'test', attachment_id: id }
      const blob_id = (await attachments.get(key))?.upload?.blob_id ?? ''
      const refused = { code: 13004, details: { status: 'rejected', reason } }
      await expect(fixture.finalize(id)).rejects.toMatchObject(refused)
      await expect(fixture.finalize(id)).rejects.toMatchObject(refused)
      await eventually(
        () => files.get(blob_id),
        (bytes) => bytes === undefined,
      )
    }
  })

  test('leaves the structure to the inspection, which rejects what is malformed', async () => {
    const content = Buffer.from('\x89PNG\r\n\x1a\n and no chunks', 'latin1')
    const { id, path } = await fixture.prepare({ content, mime_type: 'image/png' })
    await fixture.put(path, content)
    expect(await fixture.finalize(id)).toBe(AttachmentStatus.SCANNING)
    await fixture.untilStatus(id, AttachmentStatus.REJECTED)
  })

  test('of the same key shows the file as it is by then, and of another key changes nothing', async () => {
    const { id, path } = await fixture.prepare()
    await fixture.put(path, TEXT)
    const operation_id = randomUUID()
    const statuses = await Promise.all([1, 2, 3].map(() => fixture.finalize(id, { operation_id })))
    await fixture.untilStatus(id, AttachmentStatus.READY)
    expect(statuses).toContain(AttachmentStatus.SCANNING)
    expect(await fixture.finalize(id, { operation_id })).toBe(AttachmentStatus.READY)
    expect(await fixture.finalize(id)).toBe(AttachmentStatus.READY)
  })

  // F7
  test('of another purpose than the credential may write is 3008, and of an unknown file 13001', async () => {
    const { attachment } = await prepareEvidence(MERCHANT)
    await expect(fixture.finalize(attachment?.attachmentId ?? '')).rejects.toMatchObject({ code: 3008 })
    await expect(fixture.finalize(randomUUID())).rejects.toMatchObject({ code: 13001 })
    const { id } = await fixture.prepare()
    await expect(fixture.finalize(id, { merchant_id: merchant() })).rejects.toMatchObject({ code: 13001 })
  })

  // F7
  test('is 3008 for another purpose also when it repeats one that was made', async () => {
    const { id, path } = await fixture.prepare()
    await fixture.put(path, TEXT)
    const operation_id = randomUUID()
    await fixture.finalize(id, { operation_id })
    const repetition = fixture.gateway.finalizeAttachment({
      merchantId: MERCHANT,
      environment: Environment.TEST,
      attachmentId: id,
      permittedPurposes: [AttachmentPurpose.TICKET_COMMENT],
      operationId: operation_id,
      payloadHash: id,
    })
    await expect(repetition).rejects.toMatchObject({ code: 3008 })
  })
})

// F6
test('the service itself refuses a download link that has expired', async () => {
  const clock = adjustClock()
  clock.stopWall()
  const attachmentId = await fixture.ready()
  const request = { merchantId: MERCHANT, environment: Environment.TEST, attachmentId }
  const { download } = await fixture.gateway.getAttachment(request)
  const path = INTERNAL_DOWNLOAD_PATH + (download?.path ?? '').slice(DOWNLOAD_PATH.length)
  const get = () => transfer('GET', fixture.roles.urls['attachments_url'] ?? '', path)
  clock.stepWall(5 * MINUTE_MS - 1)
  expect((await get()).body.equals(TEXT)).toBe(true)
  clock.stepWall(1)
  expect(refusalOf((await get()).body)).toMatchObject({ code: 13001 })
})

test('evidence of the operator goes the same way', async () => {
  const { attachment, upload } = await prepareEvidence(MERCHANT)
  const attachmentId = attachment?.attachmentId ?? ''
  await fixture.put(upload?.path ?? '', TEXT)
  const finalize = {
    merchantId: MERCHANT,
    environment: Environment.TEST,
    attachmentId,
    operationId: 'finalize-1',
  }
  await fixture.operator.finalizeEvidence(finalize)
  await fixture.untilStatus(attachmentId, AttachmentStatus.READY)
  expect(attachment?.purpose).toBe(AttachmentPurpose.CHARGEBACK_EVIDENCE)
  const { attachment: file } = await fixture.operator.getAttachment(finalize)
  // Only the local run has no scanner, and its files say so.
  expect(file?.scanSkipped).toBe(true)
})

function prepareEvidence(merchantId: string) {
  return fixture.operator.prepareEvidence({
    merchantId,
    environment: Environment.TEST,
    file: {
      name: 'evidence.txt',
      mimeType: 'text/plain',
      sizeBytes: BigInt(TEXT.length),
      sha256: sha256Of(TEXT),
    },
    operationId: randomUUID(),
  })
}
