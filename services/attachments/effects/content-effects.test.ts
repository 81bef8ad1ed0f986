import { Readable } from 'node:stream'
import { describe, expect, test } from '@jest/globals'
import { ThreadLimitExceeded } from '#lib/base/thread.ts'
import { now } from '#lib/base/time.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Blobs } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { openTestStore } from '../../../test/support/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import { inspectContentEffect, scanContentEffect } from '../domain/attachment-effects.ts'
import { png } from '../domain/content/samples.fixture.ts'
import { applyInspection, finalize } from '../domain/finalize.ts'
import { openSession } from '../domain/session.ts'
import type { Scanner } from '../scanner/clamd.ts'
import { keyOfAttachment, openAttachmentsStore } from '../store/attachments-store.ts'
import { type ContentCheck, createContentCheck } from './content-check.ts'
import { bindInspectContent } from './inspect-content.ts'
import { bindScanContent } from './scan-content.ts'

const files: Blobs = Object.freeze({}) as Blobs
const TEXT = Buffer.from('a text')
const scanner: Scanner = { host: 'clamd', port: 3310 }

function fileOf(merchant_id: string): Attachment {
  return openSession(
    {
      merchant_id,
      environment: 'test',
      attachment_id: 'a',
      purpose: 'ticket',
      name: 'receipt.txt',
      mime_type: 'text/plain',
      size_bytes: TEXT.length,
      sha256: '',
    },
    new Date(),
  )
}

/** How many of the files are admitted at once. */
function admitted({ budget }: BoundEffect<Attachment>, merchant_ids: readonly string[]): number {
  if (typeof budget !== 'object') throw new Error('one budget is for all effects of the kind')
  return merchant_ids.filter((merchant_id) => budget.reserve(fileOf(merchant_id)) !== undefined).length
}

const ONE = Array.from({ length: 20 }, () => 'one')
const OTHERS = Array.from({ length: 20 }, (_, number) => `other ${number}`)

test('8 files are scanned at once, and 2 of them at most are of one merchant', () => {
  const scans = bindScanContent(files, scanner)
  expect(admitted(scans, ONE)).toBe(2)
  expect(admitted(scans, OTHERS)).toBe(6)
  expect(admitted(bindScanContent(files, scanner), OTHERS)).toBe(8)
})

test('a process without a scanner scans nothing', () => {
  expect(admitted(bindScanContent(files, undefined), OTHERS)).toBe(0)
})

test('4 files are inspected at once, and 2 of them at most are of one merchant', () => {
  const inspections = bindInspectContent(files, scanner, createContentCheck())
  expect(admitted(inspections, ONE)).toBe(2)
  expect(admitted(inspections, OTHERS)).toBe(2)
})

// F4
test('a file is scanned again within a minute, however long the scanner was down', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const { attachments } = await openAttachmentsStore(opened.store)
  const scan = bindScanContent({ ...files, get: () => Promise.reject(new Error('down')) }, scanner)
  const runner = createEffectRunner<Attachment>({
    name: 'attachments',
    collection: attachments,
    clock_guard: trustedClock,
    runs: lastingRun,
    keyOf: keyOfAttachment,
    effects: [scan],
  })
  // Ten, because a pause is random, and one that could be longer is longer in most cases.
  for (let number = 0; number < 10; number += 1) {
    const inspected = applyInspection(
      finalized(`m${number}`),
      { reason: undefined, has_formulas: false },
      now(),
    )
    const effects = inspected.effects
      .filter((effect) => scanContentEffect.matches(effect))
      .map((effect) => ({ ...effect, tries: 5_000 }))
    await runner.runEffects(await runner.insert({ ...inspected, effects }))
    const [tried] = (await attachments.get(keyOfAttachment(inspected)))?.effects ?? []
    expect(tried).toMatchObject({ tries: 5_001, failure: 'Error' })
    expect(tried?.due_at.getTime()).toBeLessThanOrEqual(clock.now_ms() + 60_000)
  }
  await runner.stop()
})

describe('the check of a file', () => {
  test('runs in a thread of its own, where the bytes are moved', async () => {
    const content_check = createContentCheck()
    const content = new Uint8Array(png())
    const accepted = { reason: undefined, has_formulas: false }
    expect(await content_check.run({ content, mime_type: 'image/png' }, [content.buffer])).toEqual(accepted)
    expect(content.length).toBe(0)
    const wrong = new Uint8Array(png())
    const { reason } = await content_check.run({ content: wrong, mime_type: 'image/jpeg' })
    expect(reason).toBe('wrong_type')
    await content_check.close()
  })

  test('rejects the file when it used up its limits', async () => {
    const inspection = bindInspectContent(oneFile(), scanner, failingCheck(new ThreadLimitExceeded()))
    expect(await inspect(inspection)).toMatchObject({ status: 'rejected', reason: 'malformed' })
  })

  test('is repeated while the bytes are not found soon after the finalize', async () => {
    const gone: Blobs = { ...files, get: async () => undefined }
    const inspection = bindInspectContent(gone, scanner, failingCheck(new Error('not called')))
    await expect(inspect(inspection)).rejects.toThrow('are missing')
  })

  // F5.4: not for its age alone, and not while the store fails.
  test('rejects an old file only when its bytes are lost', async () => {
    using clock = installManualClock()
    const old = finalized('one')
    clock.stepWall(24 * 3_600_000)
    const accepted = { run: async () => ({ reason: undefined, has_formulas: false }), close: async () => {} }
    expect(await inspect(bindInspectContent(oneFile(), scanner, accepted), old)).toMatchObject({
      status: 'scanning',
    })
    const down: Blobs = { ...files, get: () => Promise.reject(new Error('down')) }
    await expect(inspect(bindInspectContent(down, scanner, accepted), old)).rejects.toThrow('down')
    const lost: Blobs = { ...files, get: async () => undefined }
    expect(await inspect(bindInspectContent(lost, scanner, accepted), old)).toMatchObject({
      status: 'rejected',
      reason: 'sha256_mismatch',
    })
  })

  test('is repeated when it fails for another reason', async () => {
    const inspection = bindInspectContent(oneFile(), scanner, failingCheck(new Error('closed')))
    await expect(inspect(inspection)).rejects.toThrow('closed')
  })
})

const oneFile = (): Blobs => ({ ...files, get: async () => Readable.from([TEXT]) })

function failingCheck(error: Error): ContentCheck {
  return { run: () => Promise.reject(error), close: async () => {} }
}

/** The attachment after its inspection. */
async function inspect(
  { run }: BoundEffect<Attachment>,
  scanning: Attachment = finalized('one'),
): Promise<Attachment> {
  const effect = scanning.effects.find((one) => inspectContentEffect.matches(one))
  if (effect === undefined) throw new Error('no inspection')
  return (await run(effect, { ...scanning, version: 1 }))(scanning)
}

/** A file that waits for its inspection. */
function finalized(merchant_id: string): Attachment {
  const upload = { blob_id: 'b', sha256: '', head: Buffer.from('a text') }
  return finalize({ ...fileOf(merchant_id), status: 'uploaded', upload }, now())
}
