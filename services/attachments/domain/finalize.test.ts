import { expect, test } from '@jest/globals'
import { type Attachment, attachmentToProto } from './attachment.ts'
import type { Inspection } from './content/check-content.ts'
import { applyInspection, applyScan, finalize } from './finalize.ts'
import { beginUpload, completeUpload, expire, openSession } from './session.ts'

const AT = new Date('2026-11-22T10:00:00.000Z')
const opened = openSession(
  {
    merchant_id: '7001',
    environment: 'test',
    attachment_id: 'a',
    purpose: 'ticket',
    name: 'a.txt',
    mime_type: 'text/plain',
    size_bytes: 1,
    sha256: '0'.repeat(64),
  },
  AT,
)
const upload = { blob_id: 'one', sha256: opened.sha256, head: new Uint8Array([97]) }
const writing = beginUpload(opened, { blob_id: 'one', until: AT }, AT)
const uploaded = completeUpload(writing, upload, AT)
const scanning = finalize(uploaded, AT)

const CLEAN: Inspection = { reason: undefined, has_formulas: false }
const MALFORMED: Inspection = { reason: 'malformed', has_formulas: false }

test('a file with formulas is marked for its readers', () => {
  const marked = applyInspection(scanning, { ...CLEAN, has_formulas: true }, AT)
  expect(attachmentToProto(applyScan(marked, 'clean', AT), AT)).toMatchObject({ hasFormulas: true })
  expect(attachmentToProto(applyInspection(scanning, CLEAN, AT), AT)).toMatchObject({ hasFormulas: false })
})

// F3, F5: two processes can have the same effect after a lease ended, and the slower one writes last.
test.each([
  ['clean', 'malware'],
  ['infected', undefined],
] as const)('a file with a verdict stays as it is when the result %s comes late', (late, reason) => {
  const decided = applyScan(scanning, reason === 'malware' ? 'infected' : 'clean', AT)
  expect(decided).toMatchObject(reason ? { status: 'rejected', reason } : { status: 'ready' })
  expect(applyScan(decided, late, AT)).toBe(decided)
  expect(applyInspection(decided, MALFORMED, AT)).toBe(decided)
  expect(applyInspection(decided, CLEAN, AT)).toBe(decided)
})

// F4
test('a file gives its place back by an effect in the write of its outcome, and only once', () => {
  const releases = ({ effects }: Attachment): number =>
    effects.filter(({ kind }) => kind === 'release_place').length
  const ready = applyScan(scanning, 'clean', AT)
  const outcomes = [
    ready,
    applyScan(scanning, 'skipped', AT),
    applyScan(scanning, 'infected', AT),
    applyInspection(scanning, MALFORMED, AT),
    finalize({ ...uploaded, upload: { ...upload, sha256: '1'.repeat(64) } }, AT),
    expire(uploaded, uploaded.session_expires_at),
    expire(opened, opened.session_expires_at),
  ]
  expect(outcomes.map(releases)).toEqual(outcomes.map(() => 1))
  expect([uploaded, scanning, applyInspection(scanning, CLEAN, AT)].map(releases)).toEqual([0, 0, 0])
  const unused = expire({ ...ready, effects: [] }, ready.unused_until ?? AT)
  expect([unused.status, releases(unused)]).toEqual(['expired', 0])
})
