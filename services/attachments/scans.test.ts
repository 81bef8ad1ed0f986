import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { ATTACHMENT_MAX_BYTES } from '#lib/contract/attachments.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { CLEAN, type ScriptedClamd, startScriptedClamd } from '../../test/support/scripted-clamd.ts'
import {
  type AttachmentsFixture,
  type FileOptions,
  MERCHANT,
  startAttachments,
  TEXT,
} from './attachments.fixture.ts'
import { openAttachmentsStore } from './store/attachments-store.ts'

let clamd: ScriptedClamd
let fixture: AttachmentsFixture
let restoreClock: () => void
let speedUp: () => void
let stopTimers: () => void
beforeEach(async () => {
  const clock = createAdjustableClock()
  restoreClock = useClock(clock)
  // Pauses between tries and time limits of a minute pass in a second, once the calls of the test have been made.
  speedUp = () => clock.setRate(50)
  stopTimers = () => clock.setRate(0.001)
  clamd = await startScriptedClamd()
  fixture = await startAttachments({ MULTIHUB_SCANNER: clamd.address })
})
afterEach(async () => {
  // Scans that hang end with it; the service waits for them.
  await clamd.close().catch(() => {})
  speedUp()
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

/** More bytes than a connection takes before its other end has answered. */
const LARGE = Buffer.alloc(ATTACHMENT_MAX_BYTES, 'text ')

async function scanning(content = TEXT): Promise<string> {
  const id = await finalized({ content })
  speedUp()
  return id
}

async function finalized(options: FileOptions): Promise<string> {
  const { id, path } = await fixture.prepare(options)
  await fixture.put(path, options.content ?? TEXT)
  await fixture.finalize(id, options)
  return id
}

const statusOf = async (id: string) => {
  const request = { merchantId: MERCHANT, environment: Environment.TEST, attachmentId: id }
  return fixture.gateway.getAttachment(request)
}

/** Waits until the scan of a file was tried a number of times. */
async function triedOften(id: string, tries = 3): Promise<void> {
  const { attachments } = await openAttachmentsStore(fixture.roles.storeOf('attachments'))
  await eventually(
    () => attachments.get({ merchant_id: MERCHANT, environment: 'test', attachment_id: id }),
    (attachment) => (attachment?.effects.find(({ kind }) => kind === 'scan_content')?.tries ?? -1) >= tries,
  )
}

// F5
describe('a file', () => {
  test('is ready after an exact clean verdict on exactly its bytes', async () => {
    const id = await scanning()
    await fixture.untilStatus(id, AttachmentStatus.READY)
    expect(clamd.received).toEqual([TEXT])
    const { attachment, download } = await statusOf(id)
    expect(attachment?.scanSkipped).toBe(false)
    expect(download?.path).toMatch(/^\/public\/api\/multihub\/attachments\/download\//)
  })

  test('is rejected when a virus is found, without naming it to the merchant', async () => {
    clamd.behave((socket) => void socket.end('stream: Eicar-Test-Signature FOUND\0'))
    const id = await scanning()
    await fixture.untilStatus(id, AttachmentStatus.REJECTED)
    const { attachment, download } = await statusOf(id)
    expect({ reason: attachment?.reason, download }).toEqual({ reason: 'malware', download: undefined })
  })

  test.each([
    ['is rubbish', 'rubbish\0'],
    ['is nearly right', 'stream: OK \0'],
    ['is an error', 'INSTREAM size limit exceeded. ERROR\0'],
    ['is a limit that was hit', 'stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND\0'],
    ['has no end', 'stream: OK'],
  ])('stays scanning while the response %s, and is tried again', async (_what, response) => {
    clamd.behave((socket) => void socket.end(response))
    const id = await scanning()
    await triedOften(id)
    expect((await statusOf(id)).attachment?.status).toBe(AttachmentStatus.SCANNING)
    clamd.behave((socket) => void socket.end(CLEAN))
    await fixture.untilStatus(id, AttachmentStatus.READY)
  })

  test('stays scanning while the scanner answers before it has the bytes', async () => {
    clamd.behave((socket) => void socket.write(CLEAN), 'early')
    const id = await scanning(LARGE)
    await triedOften(id)
    expect((await statusOf(id)).attachment?.status).toBe(AttachmentStatus.SCANNING)
  })

  test('stays scanning while the scanner hangs', async () => {
    clamd.behave(() => {})
    const id = await scanning()
    await triedOften(id)
    expect((await statusOf(id)).attachment?.status).toBe(AttachmentStatus.SCANNING)
    clamd.behave((socket) => void socket.end(CLEAN))
    await fixture.untilStatus(id, AttachmentStatus.READY)
  })

  test('stays scanning while the scanner is stopped', async () => {
    await clamd.close()
    const id = await scanning()
    await triedOften(id)
    expect((await statusOf(id)).attachment?.status).toBe(AttachmentStatus.SCANNING)
  })
})

test('a file is scanned while the scanner hangs with all files of another merchant', async () => {
  const hanging = Buffer.from('the scanner hangs with this')
  clamd.behave((socket) => {
    if (!clamd.received.at(-1)?.equals(hanging)) socket.end(CLEAN)
  })
  // No time limit of a scan ends, and no sweep begins: what begins now needs room at once.
  stopTimers()
  for (let number = 0; number < 10; number += 1) await triedOften(await finalized({ content: hanging }), 0)
  await eventually(
    async () => clamd.received.length,
    (count) => count === 2,
  )
  const id = await finalized({ merchant_id: '7002' })
  await fixture.untilStatus(id, AttachmentStatus.READY, '7002')
  expect(clamd.received).toEqual([hanging, hanging, TEXT])
})
