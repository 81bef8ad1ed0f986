import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { CLEAN, type ScriptedClamd, startScriptedClamd } from '../support/scripted-clamd.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { announcementOf, transfer } from './attachments.fixture.ts'

let clamd: ScriptedClamd
let system: TestSystem
let alpha: MerchantClient
beforeAll(async () => {
  clamd = await startScriptedClamd()
  system = await startOneProcess({ MULTIHUB_SCANNER: clamd.address })
  alpha = merchantClient(system.demo)
})
afterAll(async () => {
  await system?.end()
  await clamd?.close()
})

const CONTENT = Buffer.alloc(1_000_000, 'text ')
const attachment = (h_id: string) => ({ attachment: { h_id } })
const ask = (method: string, params: object, operation_id?: string) =>
  alpha.call({ method, operation_id, params })
const statusOf = async (h_id: string): Promise<string> =>
  (await ask('attachment.status', attachment(h_id))).body.result?.status

async function prepare() {
  const { body } = await ask('attachment.prepare', announcementOf(CONTENT), randomUUID())
  const { attachment: record, upload } = body.result
  return {
    h_id: record.identifiers.h_id as string,
    ...(upload as { url: string; headers: Record<string, string> }),
  }
}

async function restart(): Promise<void> {
  await system.kill()
  await system.start()
}

/** The blobs of attachments on disk; unfinished ones have other names. */
async function blobs(name = /\/files\/[0-9a-f-]{36}-[0-9a-f]{16}$/): Promise<readonly string[]> {
  const names = await readdir(system.home, { recursive: true })
  return names.filter((path) => name.test(path))
}

// F2
test('a process that is killed during an upload leaves nothing, and the upload can be sent again', async () => {
  const { h_id, url, headers } = await prepare()
  const { hostname, port, pathname } = new URL(url)
  const half = connect(Number(port), hostname)
  half.on('error', () => {})
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  half.write(`PUT ${pathname} HTTP/1.1\r\nHost: a\r\n${head.join('')}\r\n`)
  half.write(CONTENT.subarray(0, CONTENT.length / 2))
  await eventually(
    () => blobs(/\/files\/\.unfinished-/),
    (names) => names?.length === 1,
  )
  await restart()
  half.destroy()
  expect(await statusOf(h_id)).toBe('awaiting_upload')
  expect(await blobs()).toEqual([])
  // The place of the upload is free when its lease is over.
  const again = await eventually(
    () => transfer(url, { method: 'PUT', headers, content: CONTENT }),
    (response) => response?.http_status === 200,
  )
  expect(JSON.parse(again.content.toString()).result.attachment.status).toBe('uploaded')
  expect(await blobs()).toHaveLength(1)
})

// F3, S3
test('a process that is killed during a finalize finishes it when it is repeated', async () => {
  const { h_id, url, headers } = await prepare()
  await transfer(url, { method: 'PUT', headers, content: CONTENT })
  const operation_id = randomUUID()
  const lost = ask('attachment.finalize', attachment(h_id), operation_id).catch(() => undefined)
  await restart()
  await lost
  const { body } = await ask('attachment.finalize', attachment(h_id), operation_id)
  expect(['scanning', 'ready']).toContain(body.result.attachment.status)
  await eventually(
    () => statusOf(h_id),
    (status) => status === 'ready',
  )
})

// F5
test('a file whose scan ended with its process is scanned again', async () => {
  clamd.behave(() => {})
  const before = clamd.received.length
  const { h_id, url, headers } = await prepare()
  await transfer(url, { method: 'PUT', headers, content: CONTENT })
  await ask('attachment.finalize', attachment(h_id), randomUUID())
  await eventually(
    async () => clamd.received.length,
    (count = 0) => count > before,
  )
  await system.kill()
  clamd.behave((socket) => void socket.end(CLEAN))
  await system.start()
  expect(await statusOf(h_id)).toBe('scanning')
  await eventually(
    () => statusOf(h_id),
    (status) => status === 'ready',
  )
})
