import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { announcementOf, type PreparedUpload, transfer } from '../integration/attachments.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { CLEAN, type ScriptedClamd, startScriptedClamd } from '../support/scripted-clamd.ts'
import type { TestSystem } from '../support/system.ts'

const CONTENT = Buffer.alloc(1_000_000, 'text ')

/** A system, and the files that it has on its kind of store. */
export interface StoredFiles {
  readonly system: TestSystem
  /** Lets the leases of a killed process end before the next start, where that needs no waiting. */
  endLeases(): Promise<void>
  /** The number of uploads that are being stored or were interrupted. */
  unfinished(): Promise<number>
  /** The number of complete blobs of an attachment. */
  blobsOf(h_id: string): Promise<number>
  end(): Promise<void>
}

/** Uploads, finalizes and scans whose process is killed, which must go on on every store. */
export function attachmentsCrashSuite(
  name: string,
  start: (variables: Readonly<Record<string, string>>) => Promise<StoredFiles>,
): void {
  describe(`a crash on ${name}`, () => {
    let clamd: ScriptedClamd
    let stored: StoredFiles
    let system: TestSystem
    let alpha: MerchantClient
    /** The files whose upload, finalize and scan the killed process left. */
    let uploading: PreparedUpload
    let finalizing: PreparedUpload
    let scanning: PreparedUpload
    const finalize_id = randomUUID()
    let status_after_crash: string

    // One crash interrupts all three, so that their leases expire at once.
    beforeAll(async () => {
      clamd = await startScriptedClamd()
      stored = await start({ MULTIHUB_SCANNER: clamd.address })
      system = stored.system
      alpha = merchantClient(system.demo)
      clamd.behave(() => {})
      scanning = await prepare()
      await put(scanning)
      await ask('attachment.finalize', attachment(scanning.h_id), randomUUID())
      await eventually(
        async () => clamd.received.length,
        (count = 0) => count > 0,
      )
      uploading = await prepare()
      const half = await uploadHalf(uploading)
      finalizing = await prepare()
      await put(finalizing)
      const lost = ask('attachment.finalize', attachment(finalizing.h_id), finalize_id).catch(() => undefined)
      await system.kill()
      await lost
      half.destroy()
      await stored.endLeases()
      // No verdict yet, so that the scan is not over before its status was read.
      clamd.behave((socket) => void socket.destroy())
      await system.start()
      status_after_crash = await statusOf(scanning)
      clamd.behave((socket) => void socket.end(CLEAN))
    })
    afterAll(async () => {
      await stored?.end()
      await clamd?.close()
    })

    const attachment = (h_id: string) => ({ attachment: { h_id } })
    const ask = (method: string, params: object, operation_id?: string) =>
      alpha.call({ method, operation_id, params })
    const put = ({ url, headers }: PreparedUpload) =>
      transfer(url, { method: 'PUT', headers, content: CONTENT })
    const statusOf = async ({ h_id }: PreparedUpload): Promise<string> =>
      (await ask('attachment.status', attachment(h_id))).body.result?.status

    async function prepare(): Promise<PreparedUpload> {
      const { body } = await ask('attachment.prepare', announcementOf(CONTENT), randomUUID())
      const { attachment: record, upload } = body.result
      return { h_id: record.identifiers.h_id, ...upload }
    }

    /** Sends half of the content, and waits until the process stores it. */
    async function uploadHalf({ url, headers }: PreparedUpload): Promise<Socket> {
      const { hostname, port, pathname } = new URL(url)
      const half = connect(Number(port), hostname)
      half.on('error', () => {})
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      half.write(`PUT ${pathname} HTTP/1.1\r\nHost: a\r\n${head.join('')}\r\n`)
      half.write(CONTENT.subarray(0, CONTENT.length / 2))
      await eventually(
        () => stored.unfinished(),
        (count) => count === 1,
      )
      return half
    }

    // F2
    test('a process that is killed during an upload leaves nothing, and the upload can be sent again', async () => {
      const blobs = () => stored.blobsOf(uploading.h_id)
      expect(await statusOf(uploading)).toBe('awaiting_upload')
      expect(await blobs()).toBe(0)
      // The place of the upload is free when its lease is over.
      const again = await eventually(
        () => put(uploading),
        (response) => response?.http_status === 200,
      )
      expect(JSON.parse(again.content.toString()).result.attachment.status).toBe('uploaded')
      expect(await blobs()).toBe(1)
    })

    // F3, S3
    test('a process that is killed during a finalize finishes it when it is repeated', async () => {
      const { body } = await ask('attachment.finalize', attachment(finalizing.h_id), finalize_id)
      expect(['scanning', 'ready']).toContain(body.result.attachment.status)
      await eventually(
        () => statusOf(finalizing),
        (status) => status === 'ready',
      )
    })

    // F5
    test('a file whose scan ended with its process is scanned again', async () => {
      expect(status_after_crash).toBe('scanning')
      await eventually(
        () => statusOf(scanning),
        (status) => status === 'ready',
      )
    })
  })
}
