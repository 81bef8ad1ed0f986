import { describe, expect, test } from '@jest/globals'
import { isAttachmentName, isAttachmentType } from './attachments.ts'

// F6
describe('the name of a file', () => {
  test.each([
    'a',
    'receipt.pdf',
    'Beleg März.pdf',
    '領収書.png',
    '👩‍👩‍👧.txt',
    '.hidden',
    'a..b',
    'ä'.repeat(127),
  ])('may be %s', (name) => expect(isAttachmentName(name)).toBe(true))

  test.each([
    ['nothing', ''],
    ['a directory', '..'],
    ['the same directory', '.'],
    ['a path', '../../etc/passwd'],
    ['a path of Windows', 'a\\b.txt'],
    ['NUL', 'a.pdf\0.exe'],
    ['line breaks', 'a\r\nSet-Cookie: b'],
    ['a control character', 'a\u0085b'],
    ['text that runs from right to left', 'invoice_\u202efdp.exe'],
    ['an isolate', 'a\u2066b'],
    ['a line separator', 'a\u2028b'],
    ['a byte order mark', '\ufeffa'],
    ['a lone surrogate', 'a\ud800'],
    ['256 bytes', 'ä'.repeat(128)],
    ['1,000 characters', 'a'.repeat(1_000)],
  ])('may not be %s', (_what, name) => expect(isAttachmentName(name)).toBe(false))
})

// F4
test.each([
  'image/svg+xml',
  'text/html',
  'application/zip',
  'application/PDF',
  'text/plain; charset=utf-8',
  'constructor',
  '',
])('the type %j is not permitted', (type) => expect(isAttachmentType(type)).toBe(false))
