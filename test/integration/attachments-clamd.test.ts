import { deflateSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { bytesOf, EICAR, pdf, png } from '../../services/attachments/domain/content/samples.fixture.ts'
import { openAttachmentsStore } from '../../services/attachments/store/attachments-store.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { CLAMD_STREAM_MAX_BYTES } from '../support/private-clamd.ts'
import { startPrivateClamd } from '../support/servers.ts'
import { type FilesClient, type FilesSystem, startFiles, TEXT } from './attachments.fixture.ts'

const clamd = await startPrivateClamd()
if ('skip' in clamd) process.stderr.write(`skipped: ${clamd.skip}\n`)
const scanner = 'skip' in clamd ? undefined : clamd

let system: FilesSystem
let shop: FilesClient
let restoreClock: () => void
beforeAll(async () => {
  if (scanner === undefined) return
  system = await startFiles({ MULTIHUB_SCANNER: scanner.address })
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  await scanner?.stop()
})
beforeEach(() => {
  const clock = createAdjustableClock()
  restoreClock = useClock(clock)
  // Time limits and pauses of a minute pass in a second, once the requests of the test have been sent.
  speedUp = () => clock.setRate(50)
})
afterEach(() => restoreClock())
let speedUp: () => void

/** Waits until the scan of a file was tried several times. */
async function triedOften(h_id: string, of: FilesClient = shop, { roles } = system): Promise<void> {
  const { attachments } = await openAttachmentsStore(roles.storeOf('attachments'))
  const key = { merchant_id: of.merchant_id, environment: 'test', attachment_id: h_id }
  await eventually(
    () => attachments.get(key),
    (attachment) => (attachment?.effects.find(({ kind }) => kind === 'scan_content')?.tries ?? 0) >= 3,
  )
  expect((await of.status(h_id)).body.result.status).toBe('scanning')
}

/** A PDF of 5,000 compressed streams; clamd unpacks each and scans: over a second of work. */
function manyStreams(): Buffer {
  const streams = Array.from({ length: 5_000 }, (_, number) => {
    const bytes = deflateSync(Buffer.from(`stream ${number} `.repeat(100)))
    return bytesOf(`<</Length ${bytes.length}/Filter/FlateDecode>>\nstream\n`, bytes, '\nendstream')
  })
  return pdf(...streams)
}

// F5
const describeWithClamd = scanner === undefined ? describe.skip : describe
describeWithClamd('with a real clamd', () => {
  test.each([
    ['a text', 'text/plain', TEXT],
    ['a PDF', 'application/pdf', pdf('<</Type/Page>>')],
    ['a PNG', 'image/png', png()],
    ['a file as large as it accepts', 'text/csv', Buffer.alloc(CLAMD_STREAM_MAX_BYTES - 1, 'a;b\n')],
  ])('%s without a virus is ready', async (_what, mime_type, content) => {
    const h_id = await shop.upload(content, { mime_type })
    await shop.untilStatus(h_id, 'ready')
  })

  test('EICAR is rejected, and the merchant does not see the name of the signature', async () => {
    const h_id = await shop.upload(EICAR)
    const { raw } = await shop.untilStatus(h_id, 'rejected')
    expect(raw).toContain('"reason":"malware"')
    expect(raw).not.toMatch(/eicar/i)
    expect((await shop.get(h_id)).body.error.code).toBe(13004)
  })

  test('a file beyond its limit stays scanning', async () => {
    const h_id = await shop.upload(Buffer.alloc(CLAMD_STREAM_MAX_BYTES + 100_000, 'a;b\n'))
    speedUp()
    await triedOften(h_id)
  })

  test('a file that takes it longer than it may stays scanning', async () => {
    const hasty = await startPrivateClamd(1)
    if ('skip' in hasty) throw new Error(hasty.skip)
    try {
      await using own = await startFiles({ MULTIHUB_SCANNER: hasty.address })
      const merchant = await own.newMerchant()
      const h_id = await merchant.upload(manyStreams(), { mime_type: 'application/pdf' })
      speedUp()
      await triedOften(h_id, merchant, own)
    } finally {
      await hasty.stop()
    }
  })

  test('a file waits while it is stopped, and is scanned when it is back', async () => {
    await scanner?.kill()
    const [clean, infected] = [await shop.upload(TEXT), await shop.upload(bytesOf(EICAR))]
    speedUp()
    await triedOften(clean)
    await scanner?.restart()
    await shop.untilStatus(clean, 'ready')
    await shop.untilStatus(infected, 'rejected')
  })

  test('a file waits while it hangs, and is scanned when it goes on', async () => {
    scanner?.pause()
    const h_id = await shop.upload(TEXT)
    speedUp()
    await triedOften(h_id)
    scanner?.resume()
    await shop.untilStatus(h_id, 'ready')
  })
})
