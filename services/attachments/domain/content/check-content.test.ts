import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ATTACHMENT_TYPES, type AttachmentType } from '#lib/contract/attachments.ts'
import { checkContent, inspectContent } from './check-content.ts'
import {
  bytesOf,
  jpeg,
  jpegSegment,
  objectStream,
  pdf,
  png,
  pngChunk,
  webp,
  webpChunk,
  zipEnd,
} from './samples.fixture.ts'

const TYPES = Object.keys(ATTACHMENT_TYPES) as readonly AttachmentType[]

const VALID: Readonly<Record<AttachmentType, readonly Buffer[]>> = {
  'application/pdf': [
    pdf('<</Type/Page>>'),
    pdf(objectStream('1 0 <</Type/Page/OpenAction [3 0 R /Fit]>>')),
    // A name that only begins like an active one, and names without a value.
    pdf('<</Launcher 1/XFATHER 2/EF/JS>>'),
    // An outline, and compressed objects without a type.
    pdf('<</First 12 0 R/Last 14 0 R>>', objectStream('1 0 <<>>', '/First 4/Filter [ /FlateDecode ]')),
    // An outline whose texts look like the parts of a stream, also in compressed objects.
    pdf('<</First 12 0 R/Title(\\( (a) >>stream)>>'),
    pdf(
      '<</Title(a \\) (>>stream) obj)/First 12 0 R/X[<3E3E><</Y 1>>]% >>stream\n/Last 14 0 R>>',
      objectStream('1 0 <</First 12 0 R/Last 14 0 R>>'),
    ),
    bytesOf(pdf().subarray(0, -1), '\r\n'),
    // References of a tagged PDF are an array.
    pdf('<</Type/StructElem/Ref[3 0 R]>>'),
    // Links that a reader clicks, on a page that the file opens at.
    pdf(
      '<</Type/Catalog/OpenAction [3 0 R /Fit]/URI<</Base(a)>>>>\nendobj\n3 0 obj<</Type/Page/Annots[4 0 R]>>',
      '<</Subtype/Link/A<</S/URI/URI(https://example.com)>>>>',
    ),
    pdf(
      '<</OpenAction 8 0 R>>\nendobj\n8 0 obj<</S/GoTo/D[3 0 R/Fit]>>\nendobj\n3 0 obj<</Annots[4 0 R]>>',
      '<</X 1>>\nendobj\n4 0 obj<</A<</S/URI>>>>',
    ),
    pdf('<</AA<</O<</S/GoTo/D 8 0 R>>>>>>\nendobj\n8 0 obj[3 0 R/Fit]\nendobj\n3 0 obj<</A<</S/URI>>>>'),
    // Names that only begin like active ones.
    pdf('<</Threads 1/Sounds 2/GoToRemote 3/Movies 4/SubmitForms 5/AAA<</S/URI>>/OpenActions<</S/URI>>>>'),
  ],
  'image/png': [png(), png(pngChunk('tEXt', Buffer.from('PK\x03\x04')))],
  'image/jpeg': [
    jpeg(),
    jpeg(jpegSegment(0xfe, Buffer.from('a comment'))),
    bytesOf(jpeg().subarray(0, -2), '\xff\xff\xd9'),
    // A marker without a length.
    bytesOf('\xff\xd8\xff\x01', jpeg().subarray(2)),
  ],
  'image/webp': [webp(), webp(webpChunk('EXIF', Buffer.from('odd')))],
  'text/plain': [
    Buffer.from('a\tb\r\nc\f and a longer line'),
    Buffer.from('\ufeffwith a mark'),
    Buffer.from('🧾 < 3, as written'),
    Buffer.from('MZ is a country'),
    // Only the beginning decides whether a text is markup (F3).
    Buffer.from('the page has <script> and <html> in it'),
  ],
  'text/csv': [Buffer.from('first;second\n1;2\n')],
}

// F3
describe.each(TYPES)('a file of the type %s', (type) => {
  test('is accepted when it is whole', () => {
    expect(VALID[type].map((content) => checkContent(content, type))).toEqual(
      VALID[type].map(() => undefined),
    )
  })

  test('is not accepted as any other type', () => {
    const others = TYPES.filter(
      (other) => other !== type && !(other.startsWith('text/') && type.startsWith('text/')),
    )
    for (const other of others)
      expect(checkContent(VALID[type][0] ?? Buffer.alloc(0), other)).toBe('wrong_type')
  })

  test('is refused with a zip archive at its end, also when its own end is the comment of the archive', () => {
    for (const content of VALID[type]) {
      expect(checkContent(bytesOf(content, 'PK\x03\x04 an archive', zipEnd()), type)).toBe('malformed')
      const own_end = content.subarray(-8)
      expect(checkContent(bytesOf(content.subarray(0, -8), zipEnd(own_end)), type)).toMatch(
        /malformed|wrong_type/,
      )
      expect(checkContent(bytesOf(content, zipEnd(Buffer.from('short of the end'), 3)), type)).toBe(
        'malformed',
      )
    }
  })

  test('never makes the check throw, whatever its bytes are', () => {
    const mutated = fc.tuple(
      fc.constantFrom(...VALID[type]),
      fc.nat(),
      fc.nat(),
      fc.uint8Array({ maxLength: 40 }),
    )
    fc.assert(
      fc.property(mutated, ([content, from, to, put]) => {
        const at = from % (content.length + 1)
        const rest = content.subarray(at + (to % (content.length - at + 1)))
        expect(() =>
          checkContent(bytesOf(content.subarray(0, at), Buffer.from(put), rest), type),
        ).not.toThrow()
      }),
      { numRuns: 500 },
    )
  })
})

// F3
describe.each(['application/pdf', 'image/png', 'image/jpeg', 'image/webp'] as const)(
  'a binary file of the type %s',
  (type) => {
    test('is refused when it is cut off anywhere, or longer than it is', () => {
      for (const content of VALID[type]) {
        for (let length = 16; length < content.length; length += 1) {
          const cut = content.subarray(0, length)
          // White space at the end of a PDF may be missing.
          if (type === 'application/pdf' && /%%EOF\s*$/.test(cut.toString('latin1'))) continue
          expect(checkContent(cut, type)).toBe('malformed')
        }
        for (const more of ['x', '\0x', '<script>', '\xff\xd9', '%PDF-1.7'])
          expect(checkContent(bytesOf(content, more), type)).toBe('malformed')
      }
    })
  },
)

test('a PNG is refused with a wrong checksum, and with a second image', () => {
  const altered = Buffer.from(png())
  altered.writeUInt8(altered.readUInt8(20) ^ 1, 20)
  expect(checkContent(altered, 'image/png')).toBe('malformed')
  expect(checkContent(bytesOf(png(), png()), 'image/png')).toBe('malformed')
})

test('a PNG is refused without its head or with a second one, and with chunks that are not of the format', () => {
  const signature_bytes = 8
  const head_bytes = 25
  const rest = png().subarray(signature_bytes + head_bytes)
  expect(checkContent(bytesOf(png().subarray(0, signature_bytes), rest), 'image/png')).toBe('malformed')
  for (const name of ['IHDR', 'tEX7', 'IEND'])
    expect(checkContent(png(pngChunk(name, Buffer.from('a text'))), 'image/png')).toBe('malformed')
  const end = pngChunk('IEND', Buffer.from('a text'))
  expect(
    checkContent(bytesOf(png().subarray(0, -pngChunk('IEND', Buffer.alloc(0)).length), end), 'image/png'),
  ).toBe('malformed')
})

test('an image is refused with the end of an archive in it, also far before its own end', () => {
  const archive_end = jpegSegment(0xfe, zipEnd())
  const comment = jpegSegment(0xfe, Buffer.alloc(60_000, 'x'))
  expect(checkContent(jpeg(archive_end), 'image/jpeg')).toBe('malformed')
  expect(checkContent(jpeg(archive_end, comment), 'image/jpeg')).toBe('malformed')
  expect(checkContent(jpeg(comment), 'image/jpeg')).toBeUndefined()
})

test('a WebP is refused without a chunk, and when its first chunk is not an image', () => {
  expect(checkContent(bytesOf('RIFF\x04\0\0\0WEBP'), 'image/webp')).toBe('malformed')
  const chunk = webpChunk('EXIF', Buffer.from('some'))
  expect(checkContent(bytesOf('RIFF\x10\0\0\0WEBP', chunk), 'image/webp')).toBe('malformed')
})

test.each([
  ['a second begin', '\xff\xd8\0\x02'],
  ['a marker that only the data of a scan has', '\xff\0\0\x02'],
  ['a scan that is shorter than its own length', '\xff\xda\0\0'],
])('a JPEG is refused with %s', (_what, segment) => {
  const rest = jpeg().subarray(2)
  expect(checkContent(bytesOf('\xff\xd8\xff\xfe\0\x02', segment, rest), 'image/jpeg')).toBe('malformed')
})

test('a JPEG is refused without a scan, and with a second image', () => {
  expect(
    checkContent(bytesOf('\xff\xd8', jpegSegment(0xe0, Buffer.from('JFIF\0')), '\xff\xd9'), 'image/jpeg'),
  ).toBe('malformed')
  expect(checkContent(bytesOf(jpeg(), jpeg()), 'image/jpeg')).toBe('malformed')
})

describe('a text', () => {
  test.each([
    '<html>',
    '<!DOCTYPE html>',
    ' \n<svg xmlns="">',
    '<?xml version="1.0"?>',
    '\ufeff<script>',
    '{\\rtf1',
    '%!PS',
  ])('is refused when it is another format: %j', (start) =>
    expect(checkContent(Buffer.from(`${start} and more`), 'text/plain')).toBe('wrong_type'),
  )

  test.each(['a\0b', 'a\x1bb', '\x7f'])('is refused with control characters: %j', (text) => {
    expect(checkContent(Buffer.from(`some text that goes before ${text}`), 'text/csv')).toBe('malformed')
  })

  test('is refused when it is not UTF-8', () => {
    expect(checkContent(bytesOf('caf\xe9'), 'text/plain')).toBe('malformed')
  })
})

test.each<[string, boolean]>([
  ['name;amount\nshop;-12.50\n"a=b","+5"\n- a\u00e9;', true],
  ['=cmd()', true],
  ['\ufeff=1', true],
  ['a, =HYPERLINK("x")', true],
  ['a\r\n"@SUM(A1)"', true],
  ['a|+1+cmd', true],
  ['a\t-A1', true],
  ['\uff1d1', true],
  ["-1 +cmd|'/C calc'!A0", true],
  ['name\n+1 -SUM(A1)', true],
  ['a,\f=1', true],
  ['a,\u00a0=1', true],
  ['a,\u3000=1', true],
  ['a,"\u00a0=1"', true],
  ['a,\u00a0"=1"', true],
  ['- 1', true],
  ['name\n-12.50 \n" +5 "\n', false],
  ['name;amount\nshop;-12.50\n"a=b","+5"\n', false],
  ['a=b,1-2,me@example.com\n-1', false],
])('the CSV %j has formulas: %p', (text, has_formulas) => {
  expect(inspectContent(Buffer.from(text), 'text/csv')).toEqual({ reason: undefined, has_formulas })
  expect(inspectContent(Buffer.from(text), 'text/plain').has_formulas).toBe(false)
})

// With one pass over them it takes milliseconds, and hours with one pass from each of them.
test.each(['\n', '\t', '\r\n', ' ', '"\n', ',"\n', '"', '1 ', '-'])(
  'a CSV of 2 MiB %j is read once',
  (part) => {
    const text = `a,b${part.repeat((2 * 1024 * 1024) / part.length)}b`
    expect(inspectContent(Buffer.from(text), 'text/csv').reason).toBeUndefined()
  },
)
