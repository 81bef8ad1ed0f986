import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { announcementOf, sha256Of, transfer } from '../integration/attachments.fixture.ts'
import { eventually } from '../support/eventually.ts'
import type { SystemSuite } from './system.suite.ts'

const attachment = (h_id: string) => ({ attachment: { h_id } })

/** Uploads and downloads files through the public API. It must pass for every way of running the system. */
export const attachmentsSuite: SystemSuite = (given) => {
  describe('files', () => {
    const call = async (method: string, params: object, operation_id?: string) =>
      (await given().alpha.call({ method, operation_id, params })).body

    // F1, F2, F3, F6
    test('a file of several parts is uploaded, checked and downloaded, and its upload can be refused first', async () => {
      const content = Buffer.alloc(3_000_000, 'some text, again and again. ')
      const prepared = await call('attachment.prepare', announcementOf(content), randomUUID())
      const { upload, attachment: record } = prepared.result
      const { h_id } = record.identifiers
      const put = (headers: object = {}) =>
        transfer(upload.url, { method: 'PUT', headers: { ...upload.headers, ...headers }, content })
      expect((await put({ 'Content-Type': 'text/html' })).http_status).toBe(400)
      expect((await put()).http_status).toBe(200)
      expect((await put()).http_status).toBe(200)
      await call('attachment.finalize', attachment(h_id), randomUUID())
      // The refusal must reach the sender although its bytes are not read, which a closed connection would prevent.
      for (let number = 0; number < 20; number += 1)
        expect(JSON.parse((await put()).content.toString()).error.code).toBe(1003)
      await eventually(
        () => call('attachment.status', attachment(h_id)),
        (body) => body?.result.status === 'ready',
      )
      const { download } = (await call('attachment.get', attachment(h_id))).result
      const downloads = await Promise.all([1, 2, 3].map(() => transfer(download.url, { method: 'GET' })))
      for (const { http_status, content: bytes } of downloads)
        expect({ http_status, sha256: sha256Of(bytes) }).toEqual({
          http_status: 200,
          sha256: sha256Of(content),
        })
    })
  })
}
