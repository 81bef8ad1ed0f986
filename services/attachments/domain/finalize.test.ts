import { expect, test } from '@jest/globals'
import { applyInspection, applyScan, finalize } from './finalize.ts'
import { beginUpload, completeUpload, openSession } from './session.ts'

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
const scanning = finalize(completeUpload(writing, upload, AT), AT)

// F3, F5: two processes can have the same effect after a lease ended, and the slower one writes last.
test.each([
  ['clean', 'malware'],
  ['infected', undefined],
] as const)('a file with a verdict stays as it is when the result %s comes late', (late, reason) => {
  const decided = applyScan(scanning, reason === 'malware' ? 'infected' : 'clean', AT)
  expect(decided).toMatchObject(reason ? { status: 'rejected', reason } : { status: 'ready' })
  expect(applyScan(decided, late, AT)).toBe(decided)
  expect(applyInspection(decided, 'malformed', AT)).toBe(decided)
  expect(applyInspection(decided, undefined, AT)).toBe(decided)
})
