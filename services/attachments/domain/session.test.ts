import { describe, expect, test } from '@jest/globals'
import { type Attachment, SESSION_MS, statusAt, type Upload, type Writer } from './attachment.ts'
import { finalize } from './finalize.ts'
import { abandonUpload, beginUpload, completeUpload, expire, openSession, renewUpload } from './session.ts'

const START = new Date('2026-11-22T10:00:00.000Z')
const later = (time_ms: number): Date => new Date(START.getTime() + time_ms)
const fields = {
  merchant_id: '7001',
  environment: 'test',
  attachment_id: 'a',
  purpose: 'ticket',
  name: 'a.txt',
  mime_type: 'text/plain',
  size_bytes: 1,
  sha256: '0'.repeat(64),
} as const
const opened: Attachment = openSession(fields, START)
const writerOf = (blob_id: string, until_ms: number): Writer => ({ blob_id, until: later(until_ms) })
const uploadOf = (blob_id: string): Upload => ({ blob_id, sha256: '1'.repeat(64), head: new Uint8Array() })
/** The blobs that will be deleted, with the time. */
const deletions = ({ effects }: Attachment): readonly unknown[] =>
  effects.filter(({ kind }) => kind === 'delete_bytes').map(({ data, due_at }) => [data['blob_id'], due_at])

// F2
describe('an upload', () => {
  const first = beginUpload(opened, writerOf('one', 15_000), START)

  test('keeps the next one out until its lease ends; that one then deletes its bytes later', () => {
    expect(() => beginUpload(first, writerOf('two', 30_000), later(14_999))).toThrow(
      expect.objectContaining({ code: 13003 }),
    )
    const second = beginUpload(first, writerOf('two', 30_000), later(15_000))
    expect(second.writer?.blob_id).toBe('two')
    // A minute later, because the first may still be storing its last bytes.
    expect(deletions(second)).toEqual([['one', later(75_000)]])
  })

  test('that was overtaken neither renews its lease, nor completes, nor ends the lease of the other', () => {
    const second = beginUpload(first, writerOf('two', 30_000), later(15_000))
    expect(renewUpload(second, writerOf('one', 40_000), later(16_000))).toBeUndefined()
    expect(() => completeUpload(second, uploadOf('one'), later(16_000))).toThrow(
      expect.objectContaining({ code: 13003 }),
    )
    expect(abandonUpload(second, { blob_id: 'one', is_received: true }, later(16_000))).toBeUndefined()
    expect(completeUpload(second, uploadOf('two'), later(16_000)).upload?.blob_id).toBe('two')
  })

  test('that failed gives its lease back, and has its bytes deleted later if all of them had arrived', () => {
    const failed = { blob_id: 'one', is_received: false }
    expect(abandonUpload(first, failed, later(1_000))).toEqual(opened)
    const received = abandonUpload(first, { ...failed, is_received: true }, later(1_000))
    expect(received?.writer).toBeUndefined()
    expect(received && deletions(received)).toEqual([['one', later(75_000)]])
  })

  test('that fails quickly again and again keeps its lease, so that the document does not grow', () => {
    let attachment = opened
    for (let tries = 0; tries < 100 && attachment.writer === undefined; tries += 1) {
      const blob_id = `${tries}`
      const begun = beginUpload(attachment, writerOf(blob_id, 15_000), START)
      attachment = abandonUpload(begun, { blob_id, is_received: true }, START) ?? begun
    }
    expect(attachment.writer).toBeDefined()
    expect(deletions(attachment)).toHaveLength(8)
    const second = beginUpload(attachment, writerOf('next', 30_000), later(15_000))
    expect(deletions(second)).toHaveLength(9)
  })

  test('that completes replaces the one before, and is the same when it is repeated', () => {
    const uploaded = completeUpload(first, uploadOf('one'), later(1_000))
    expect(uploaded).toMatchObject({ status: 'uploaded', upload: { blob_id: 'one' } })
    expect(uploaded.writer).toBeUndefined()
    expect(completeUpload(uploaded, uploadOf('one'), later(2_000))).toBe(uploaded)
    const again = completeUpload(
      beginUpload(uploaded, writerOf('two', 20_000), later(3_000)),
      uploadOf('two'),
      later(4_000),
    )
    expect(deletions(again)).toEqual([['one', later(4_000)]])
  })

  test('that is in progress when the session ends is refused, and its bytes are deleted', () => {
    const end = later(SESSION_MS)
    const late = beginUpload(opened, writerOf('late', SESSION_MS + 10_000), later(SESSION_MS - 1))
    expect(statusAt(late, later(SESSION_MS - 1))).toBe('awaiting_upload')
    expect(statusAt(late, end)).toBe('expired')
    expect(renewUpload(late, writerOf('late', SESSION_MS + 20_000), end)).toBeUndefined()
    expect(() => completeUpload(late, uploadOf('late'), end)).toThrow(
      expect.objectContaining({ code: 13002 }),
    )
    const expired = expire(late, end)
    expect(expired).toMatchObject({ status: 'expired' })
    expect(deletions(expired)).toEqual([['late', later(SESSION_MS + 70_000)]])
    expect(expire(expired, later(SESSION_MS + 1))).toBe(expired)
  })

  test('that still writes at the finalize has its bytes deleted later', () => {
    const head = new Uint8Array(Buffer.from('a'))
    const uploaded = completeUpload(first, { ...uploadOf('one'), sha256: fields.sha256, head }, START)
    const late = beginUpload(uploaded, writerOf('late', 15_000), later(1_000))
    const finalized = finalize(late, later(2_000))
    expect(finalized).toMatchObject({ status: 'scanning', upload: { blob_id: 'one' } })
    expect(finalized.writer).toBeUndefined()
    expect(deletions(finalized)).toEqual([['late', later(75_000)]])
  })
})
