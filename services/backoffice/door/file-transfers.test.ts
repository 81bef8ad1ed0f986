import { EventEmitter } from 'node:events'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, createContextValues } from '@connectrpc/connect'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  AttachmentService,
  GetAttachmentResponseSchema,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { DOWNLOAD_PATH } from '#lib/contract/attachments.ts'
import type { StreamHandler } from '#lib/http/internal-link.ts'
import { connection_caller_key } from '#lib/rpc/server/connect-listener.ts'
import type { RpcEndpoint } from '#lib/rpc/server/dispatch.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { openFiles } from './file-paths.ts'
import type { HttpExchange } from './http-paths.ts'

const MINUTE_MS = 60_000
const FOUND: MessageInitShape<typeof GetAttachmentResponseSchema> = {
  attachment: { mimeType: 'text/plain', sizeBytes: 1n },
  download: { path: `${DOWNLOAD_PATH}a` },
}

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** Downloads of files whose bytes never come; they end when they are cut off or their client goes. */
function openDownloads() {
  const sendToAttachments: StreamHandler = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('the transfer was ended')), { once: true })
    })
  const endpoint: RpcEndpoint = {
    method: AttachmentService.method.getAttachment,
    checkCaller: async () => {},
    call: async () => ({ message: create(GetAttachmentResponseSchema, FOUND), bytes: new Uint8Array() }),
  }
  const { paths } = openFiles({ streamsOf: () => sendToAttachments, tls: undefined }, 'http://127.0.0.1:1', {
    endpoints: [endpoint],
    authenticate: async () => undefined,
  })
  const download = paths.find(({ method }) => method === 'GET')
  return (caller: string) => {
    const response = new EventEmitter()
    const exchange = {
      response,
      parameters: { attachment_id: 'a' },
      url: new URL('http://backoffice/files/a?merchant_id=7001&environment=test'),
      head: { values: createContextValues().set(connection_caller_key, caller) },
    } as unknown as HttpExchange
    const ended = download?.serve(exchange).then(String, (error: Error) => error) ?? Promise.resolve()
    return { ended, leave: () => response.emit('close') }
  }
}

const REFUSED = { status: Code.ResourceExhausted }
const END = { message: 'the transfer was ended' }

// O21
test('a caller has 16 transfers at a time, and another one is not affected', async () => {
  const download = openDownloads()
  const [first] = Array.from({ length: 16 }, () => download('one'))
  expect(await download('one').ended).toMatchObject(REFUSED)
  const other = download('another')
  first?.leave()
  expect(await first?.ended).toMatchObject(END)
  const next = download('one')
  expect(await download('one').ended).toMatchObject(REFUSED)
  for (const { ended, leave } of [other, next]) {
    leave()
    expect(await ended).toMatchObject(END)
  }
})

// O21
test('a process has 128 transfers at a time, and a refused one leaves no place taken', async () => {
  const download = openDownloads()
  const all = Array.from({ length: 128 }, (_, index) => download(`caller ${index}`))
  for (let tries = 0; tries < 20; tries += 1) expect(await download('late').ended).toMatchObject(REFUSED)
  all[0]?.leave()
  const late = download('late')
  await settled()
  late.leave()
  expect(await late.ended).toMatchObject(END)
})

// O21
test('a transfer ends after 5 minutes', async () => {
  const { ended } = openDownloads()('one')
  let is_ended = false
  void ended.then(() => {
    is_ended = true
  })
  await clock.advance(5 * MINUTE_MS - 1)
  expect(is_ended).toBe(false)
  await clock.advance(1)
  expect(await ended).toMatchObject(END)
})
