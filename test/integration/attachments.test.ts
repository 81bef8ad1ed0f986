import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { ATTACHMENT_MAX_BYTES, DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import {
  bytesOf,
  EICAR,
  jpeg,
  pdf,
  png,
  webp,
  zipEnd,
} from '../../services/attachments/domain/content/samples.fixture.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import type { PublicResponse } from '../support/public-client.ts'
import {
  announcementOf,
  type FilesClient,
  type FilesSystem,
  sha256Of,
  startFiles,
  TEXT,
  type TransferResponse,
  transfer,
} from './attachments.fixture.ts'

let system: FilesSystem
let shop: FilesClient
let restoreClock: (() => void) | undefined
beforeAll(async () => {
  system = await startFiles()
  shop = await system.newMerchant()
})
afterEach(() => {
  restoreClock?.()
  restoreClock = undefined
})
afterAll(async () => system[Symbol.asyncDispose]())

const envelopeOf = ({ http_status, content }: TransferResponse) => ({
  http_status,
  ...JSON.parse(content.toString()),
})
/** What a refusal says, without the parts that differ between any two responses. */
const refusalOf = ({ http_status, body }: PublicResponse): object => ({ http_status, error: body.error })
const put = (url: string, content: Buffer, headers: Readonly<Record<string, string>>) =>
  transfer(url, { method: 'PUT', headers, content })
const stoppedClock = () => {
  const clock = createAdjustableClock()
  restoreClock = useClock(clock)
  clock.stopWall()
  return clock
}

// F1, F2, F3, F6
test('a file goes from its announcement to a download that is saved and never shown', async () => {
  const content = bytesOf(pdf('<</Type/Page>>'))
  const announced = { name: 'Beleg "März".html', mime_type: 'application/pdf' }
  const params = announcementOf(content, announced)
  const prepared = await shop.call('attachment.prepare', params, randomUUID())
  const { attachment, upload } = prepared.body.result
  const { h_id } = attachment.identifiers
  expect(attachment).toEqual({
    identifiers: { h_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ...params,
    status: 'awaiting_upload',
    created_at: expect.any(String),
    updated_at: attachment.created_at,
  })
  expect(upload).toEqual({
    method: 'PUT',
    url: expect.stringContaining(`${system.base_url}${UPLOAD_PATH}`),
    headers: { 'Content-Type': 'application/pdf', 'Content-Length': String(content.length) },
    expires_at: new Date(Date.parse(attachment.created_at) + 15 * 60_000).toISOString(),
  })
  expect(refusalOf(await shop.get(h_id))).toMatchObject({ http_status: 409, error: { code: 13003 } })

  const uploaded = envelopeOf(await put(upload.url, content, upload.headers))
  expect(uploaded).toMatchObject({
    http_status: 200,
    success: true,
    result: { attachment: { status: 'uploaded' } },
  })
  const finalized = await shop.finalize(h_id)
  expect(finalized.body.result.attachment.status).toBe('scanning')
  expect((await shop.untilStatus(h_id, 'ready')).body.result).toEqual({ h_id, status: 'ready' })

  const { attachment: record, download } = (await shop.get(h_id)).body.result
  expect(record).toMatchObject({ ...params, status: 'ready' })
  const downloaded = await transfer(download.url, { method: 'GET' })
  expect(downloaded.http_status).toBe(200)
  expect(downloaded.content.equals(content)).toBe(true)
  expect(downloaded.headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': String(content.length),
    'content-disposition':
      'attachment; filename="Beleg _M_rz_.html.pdf"; filename*=UTF-8\'\'Beleg%20%22M%C3%A4rz%22.html.pdf',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  })
})

// F4
test.each([
  ['application/pdf', pdf('<</Type/Page>>')],
  ['image/png', png()],
  ['image/jpeg', jpeg()],
  ['image/webp', webp()],
  ['text/plain', Buffer.from('ü')],
  ['text/csv', Buffer.alloc(ATTACHMENT_MAX_BYTES, 'a;b\n')],
])('a file of the type %s is ready, and is downloaded with its type', async (mime_type, content) => {
  const h_id = await shop.upload(content, { mime_type })
  await shop.untilStatus(h_id, 'ready')
  const { download } = (await shop.get(h_id)).body.result
  const { headers, content: bytes } = await transfer(download.url, { method: 'GET' })
  expect(String(headers['content-type']).replace('; charset=utf-8', '')).toBe(mime_type)
  expect(sha256Of(bytes)).toBe(sha256Of(content))
})

describe('a file that is not what it says', () => {
  // F3
  test.each([
    ['a JPEG with a zip archive', 'image/jpeg', bytesOf(jpeg(), 'PK\x03\x04', zipEnd()), 'malformed'],
    ['a PNG with a script after its end', 'image/png', bytesOf(png(), '<script>'), 'malformed'],
    ['a truncated PNG', 'image/png', png().subarray(0, -1), 'malformed'],
    ['a PDF with JavaScript', 'application/pdf', pdf('<</S/JavaScript/JS(1)>>'), 'active_content'],
    ['SVG as text', 'text/plain', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg">'), 'wrong_type'],
  ])('is rejected: %s', async (_what, mime_type, content, reason) => {
    const h_id = await shop.upload(content, { mime_type })
    await shop.untilStatus(h_id, 'rejected')
    expect((await shop.status(h_id)).body.result).toEqual({ h_id, status: 'rejected', reason })
    expect(refusalOf(await shop.get(h_id))).toMatchObject({
      http_status: 409,
      error: { code: 13004, details: { reason } },
    })
  })

  test.each([
    ['another digest', 'text/plain', TEXT, { sha256: '0'.repeat(64) }, 'sha256_mismatch'],
    ['a zip archive as PNG', 'image/png', bytesOf('PK\x03\x04', EICAR, zipEnd()), {}, 'wrong_type'],
    ['HTML as PDF', 'application/pdf', Buffer.from('<!doctype html>'), {}, 'wrong_type'],
  ])('is refused by the finalize: %s', async (_what, mime_type, content, more, reason) => {
    const { h_id, url, headers } = await shop.prepare(content, { mime_type, ...more })
    expect((await put(url, content, headers)).http_status).toBe(200)
    const refusal = { http_status: 409, error: { code: 13004, details: { status: 'rejected', reason } } }
    expect(refusalOf(await shop.finalize(h_id))).toMatchObject(refusal)
    expect(refusalOf(await shop.finalize(h_id))).toMatchObject(refusal)
    expect((await shop.status(h_id)).body.result).toEqual({ h_id, status: 'rejected', reason })
    expect(envelopeOf(await put(url, content, headers))).toMatchObject({
      http_status: 409,
      error: { code: 13004 },
    })
  })
})

describe('an announcement', () => {
  // F4, F6
  test.each([
    ['params.name', { name: '' }],
    ['params.name', { name: '../../etc/passwd' }],
    ['params.name', { name: 'a\\b' }],
    ['params.name', { name: 'a.pdf\0.exe' }],
    ['params.name', { name: 'invoice_\u202efdp.exe' }],
    ['params.name', { name: 'a\r\nSet-Cookie: b=c' }],
    ['params.name', { name: 'a'.repeat(1_000) }],
    ['params.name', { name: 'ä'.repeat(128) }],
    ['params.size', { size: 0 }],
    ['params.size', { size: ATTACHMENT_MAX_BYTES + 1 }],
    ['params.mime_type', { mime_type: 'image/svg+xml' }],
    ['params.mime_type', { mime_type: 'text/html' }],
    ['params.mime_type', { mime_type: 'application/zip' }],
    ['params.sha256', { sha256: 'A'.repeat(64) }],
    ['params.purpose', { purpose: 'chargeback_evidence' }],
    ['params.merchant_id', { merchant_id: '1' }],
  ])('is 9000 at %s: %j', async (path, changed) => {
    const response = await shop.call('attachment.prepare', announcementOf(TEXT, changed), randomUUID())
    expect(refusalOf(response)).toMatchObject({
      http_status: 400,
      error: { code: 9000, details: { description: path } },
    })
  })

  test.each([
    ['params.size', { size: '10' }],
    ['params.size', { size: 1.5 }],
    ['params.name', { name: 5 }],
    ['operation_id', {}],
  ])('is 1005 at %s: %j', async (path, changed) => {
    const operation_id = path === 'operation_id' ? undefined : randomUUID()
    const response = await shop.call('attachment.prepare', announcementOf(TEXT, changed), operation_id)
    expect(refusalOf(response)).toMatchObject({ error: { code: 1005, details: { description: path } } })
  })

  // S3
  test('under the same key opens one session, and another one under it is 1013', async () => {
    const operation_id = randomUUID()
    const params = announcementOf(TEXT)
    const prepare = (changed: object) => shop.call('attachment.prepare', changed, operation_id)
    const responses = await Promise.all(Array.from({ length: 5 }, () => prepare(params)))
    for (const { body } of responses)
      expect(body.result.attachment).toEqual(responses[0]?.body.result.attachment)
    expect(refusalOf(await prepare({ ...params, name: 'other.txt' }))).toMatchObject({
      http_status: 409,
      error: { code: 1013 },
    })
  })

  // E10, F4
  test('beyond 20 sessions is 429 with the time to wait', async () => {
    const own = await system.newMerchant()
    for (let number = 0; number < 20; number += 1) await own.prepare(TEXT)
    const { http_status, headers, body } = await own.call(
      'attachment.prepare',
      announcementOf(TEXT),
      randomUUID(),
    )
    expect({ http_status, error: body.error }).toMatchObject({
      http_status: 429,
      error: { code: 1000, details: { bucket: 'attachment_sessions', limit: 20 } },
    })
    expect(Number(headers['retry-after'])).toBe(body.error.details.retry_after_seconds)
  })

  // E10
  test('has a quota of 20 per minute and method', async () => {
    const own = await system.newMerchant({ rateLimits: {} })
    const h_id = randomUUID()
    const codes = await Promise.all(
      Array.from({ length: 22 }, async () => (await own.status(h_id)).body.error.code),
    )
    expect(codes.filter((code) => code === 1000)).toHaveLength(2)
    expect((await own.get(h_id)).body.error.code).toBe(13001)
  })
})

describe('an upload', () => {
  // F2
  test('is refused before its bytes are read when its head is wrong', async () => {
    const { h_id, url, headers } = await shop.prepare(TEXT)
    const length = String(TEXT.length)
    const cases = [
      { headers: { ...headers, 'Content-Type': 'text/html' }, code: 1006 },
      { headers: { 'Content-Length': length }, code: 1006 },
      { headers: { ...headers, 'Content-Encoding': 'gzip' }, code: 1006 },
      { headers: { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }, code: 1005 },
    ]
    for (const { headers: wrong, code } of cases)
      expect(envelopeOf(await put(url, TEXT, wrong))).toMatchObject({ http_status: 400, error: { code } })
    const longer = Buffer.concat([TEXT, Buffer.from('x')])
    for (const content of [longer, TEXT.subarray(1), Buffer.alloc(0)]) {
      const response = await put(url, content, { ...headers, 'Content-Length': String(content.length) })
      expect(envelopeOf(response)).toMatchObject({
        error: { code: 9000, details: { description: 'content-length' } },
      })
    }
    expect((await put(`${url}?a=1`, TEXT, headers)).http_status).toBe(400)
    expect(envelopeOf(await transfer(url, { method: 'POST', headers, content: TEXT }))).toMatchObject({
      error: { code: 1007 },
    })
    expect((await shop.status(h_id)).body.result.status).toBe('awaiting_upload')
    expect(refusalOf(await shop.finalize(h_id))).toMatchObject({ http_status: 409, error: { code: 13003 } })
    expect((await put(url, TEXT, headers)).http_status).toBe(200)
  })

  // F2
  test('after 15 minutes is 13002, and so are the finalize and the download', async () => {
    const clock = stoppedClock()
    const { h_id, url, headers } = await shop.prepare(TEXT)
    clock.stepWall(15 * 60_000)
    expect(envelopeOf(await put(url, TEXT, headers))).toMatchObject({
      http_status: 409,
      error: { code: 13002 },
    })
    expect(refusalOf(await shop.finalize(h_id))).toMatchObject({ http_status: 409, error: { code: 13002 } })
    expect(refusalOf(await shop.get(h_id))).toMatchObject({ error: { code: 13002 } })
    expect((await shop.status(h_id)).body.result.status).toBe('expired')
  })

  // F2
  test('to a link that was altered, or is for downloads, is 13001', async () => {
    const { url, headers } = await shop.prepare(TEXT)
    const ready = await shop.upload(TEXT)
    await shop.untilStatus(ready, 'ready')
    const { download } = (await shop.get(ready)).body.result
    const at = url.length - 10
    const altered = `${url.slice(0, at)}${url[at] === 'A' ? 'B' : 'A'}${url.slice(at + 1)}`
    const other_kind = download.url.replace(DOWNLOAD_PATH, UPLOAD_PATH)
    for (const wrong of [altered, other_kind, `${system.base_url}${UPLOAD_PATH}x`, url.slice(0, -1)])
      expect(envelopeOf(await put(wrong, TEXT, headers))).toMatchObject({
        http_status: 404,
        error: { code: 13001 },
      })
  })
})

// F6
test('a download link works for 5 minutes, and only as it was made', async () => {
  const clock = stoppedClock()
  const h_id = await shop.upload(TEXT)
  await shop.untilStatus(h_id, 'ready')
  const { download } = (await shop.get(h_id)).body.result
  clock.stepWall(5 * 60_000 - 1)
  expect((await transfer(download.url, { method: 'GET' })).content.equals(TEXT)).toBe(true)
  clock.stepWall(1)
  const refused = { http_status: 404, error: { code: 13001 } }
  expect(envelopeOf(await transfer(download.url, { method: 'GET' }))).toMatchObject(refused)
  const { url } = await shop.prepare(TEXT)
  const other_kind = url.replace(UPLOAD_PATH, DOWNLOAD_PATH)
  expect(envelopeOf(await transfer(other_kind, { method: 'GET' }))).toMatchObject(refused)
  expect(envelopeOf(await transfer(download.url, { method: 'DELETE' }))).toMatchObject({
    error: { code: 1007 },
  })
})

describe('scopes', () => {
  // F7
  test('are those of the purpose', async () => {
    const own = await system.newMerchant()
    const commenter = await system.newCredential(own.merchant_id, { scopes: ['tickets.comment'] })
    const reader = await system.newCredential(own.merchant_id, { scopes: ['tickets.read'] })
    const stranger = await system.newCredential(own.merchant_id, { scopes: ['refunds.read'] })
    const { h_id, url, headers } = await own.prepare(TEXT)
    await put(url, TEXT, headers)
    const denied = { http_status: 403, error: { code: 3008 } }
    const prepare = (client: FilesClient, purpose: string) =>
      client.call('attachment.prepare', announcementOf(TEXT, { purpose }), randomUUID())
    expect(refusalOf(await prepare(commenter, 'ticket'))).toMatchObject(denied)
    expect(refusalOf(await prepare(reader, 'ticket_comment'))).toMatchObject(denied)
    expect((await prepare(commenter, 'ticket_comment')).http_status).toBe(200)
    for (const client of [commenter, reader, stranger])
      expect(refusalOf(await client.finalize(h_id))).toMatchObject(denied)
    for (const client of [commenter, stranger]) {
      expect(refusalOf(await client.status(h_id))).toMatchObject(denied)
      expect(refusalOf(await client.get(h_id))).toMatchObject(denied)
    }
    await own.finalize(h_id)
    await reader.untilStatus(h_id, 'ready')
    expect((await reader.get(h_id)).http_status).toBe(200)
  })

  // A10
  test('do not help while the methods are not switched on', async () => {
    const own = await system.newMerchant({ supportResources: ['ticket'] })
    expect(refusalOf(await own.get(randomUUID()))).toMatchObject({ http_status: 404, error: { code: 1002 } })
  })
})

// F1, spec: Support methods
test('a file of another merchant is byte for byte one that does not exist', async () => {
  const other = await system.newMerchant()
  const h_id = await other.upload(TEXT)
  await other.untilStatus(h_id, 'ready')
  const bare = ({ raw, body, http_status }: PublicResponse): string =>
    `${http_status} ${raw.replace(body.request_id, '').replace(/"processing_time":[\d.]+/, '')}`
  for (const ask of [shop.get, shop.status, (id: string) => shop.finalize(id)])
    expect(bare(await ask(h_id))).toBe(bare(await ask(randomUUID())))
})

// E13
test('while the store of the service is down, methods and transfers are 2002 with HTTP 503', async () => {
  const { h_id, url, headers } = await shop.prepare(TEXT)
  system.roles.setStoreUnavailable('attachments', true)
  try {
    const refused = { http_status: 503, error: { code: 2002 } }
    expect(refusalOf(await shop.status(h_id))).toMatchObject(refused)
    expect(refusalOf(await shop.finalize(h_id))).toMatchObject(refused)
    expect(envelopeOf(await put(url, TEXT, headers))).toMatchObject(refused)
  } finally {
    system.roles.setStoreUnavailable('attachments', false)
  }
  expect((await put(url, TEXT, headers)).http_status).toBe(200)
})
