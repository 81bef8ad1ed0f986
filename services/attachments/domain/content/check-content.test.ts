import { deflateSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ATTACHMENT_TYPES, type AttachmentType } from '#lib/contract/attachments.ts'
import { checkContent } from './check-content.ts'
import {
  bytesOf,
  jpeg,
  jpegSegment,
  objectStream,
  objectStreamOf,
  pdf,
  png,
  pngChunk,
  webp,
  webpChunk,
  zipEnd,
} from './samples.fixture.ts'

/** The dictionary of an object stream, as far as its decoding needs it. */
const FLATE = '/Type/ObjStm/Filter/FlateDecode'
const HIDDEN = '1 0 <</S/JavaScript>>'
/** The end of an object stream's dictionary whose begin is before it, in what looks like another object. */
const REST = '/Type/ObjStm/N 1/First 4'

const TYPES = Object.keys(ATTACHMENT_TYPES) as readonly AttachmentType[]

const VALID: Readonly<Record<AttachmentType, readonly Buffer[]>> = {
  'application/pdf': [
    pdf('<</Type/Page>>'),
    pdf(objectStream('1 0 <</Type/Page/OpenAction [3 0 R /Fit]>>')),
    // A name that only begins like an active one, and names without a value.
    pdf('<</Launcher 1/XFATHER 2/EF/JS>>'),
    // An outline, and compressed objects without a type or without a filter.
    pdf('<</First 12 0 R/Last 14 0 R>>', objectStream('1 0 <<>>', '/First 4/Filter [ /FlateDecode ]')),
    pdf('<</Type/ObjStm/N 1/First 4>>\nstream\n1 0 <<>>\nendstream'),
    // An outline whose texts look like the parts of a stream, also in compressed objects.
    pdf('<</First 12 0 R/Title(\\( (a) >>stream)>>'),
    pdf(
      '<</Title(a \\) (>>stream) obj)/First 12 0 R/X[<3E3E><</Y 1>>]% >>stream\n/Last 14 0 R>>',
      objectStream('1 0 <</First 12 0 R/Last 14 0 R>>'),
    ),
    bytesOf(pdf().subarray(0, -1), '\r\n'),
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

describe('a PDF', () => {
  test.each([
    ['JavaScript', '<</S/JavaScript/JS(app.alert(1))>>'],
    ['JavaScript with an escaped name', '<</S/J#61vaScr#69pt/JS(app.alert(1))>>'],
    ['JavaScript with an escaped letter', '<</S/#4AavaScript/JS(app.alert(1))>>'],
    ['JavaScript with a letter that is escaped in lower case', '<</S/#4aavaScript/JS(app.alert(1))>>'],
    ['JavaScript of a model in three dimensions', '<</Type/3D/Subtype/U3D/OnInstantiate 5 0 R>>'],
    ['a program to start', '<</S/Launch/F(cmd.exe)>>'],
    ['an embedded file', '<</Type/EmbeddedFile>>'],
    ['embedded files', '<</EmbeddedFiles 3 0 R>>'],
    ['rich media', '<</Subtype/RichMedia>>'],
    ['a form with scripts', '<</XFA [1 0 R]>>'],
    ['JavaScript in compressed objects', objectStream('1 0 <</S/JavaScript>>')],
    [
      'JavaScript in compressed objects without a type',
      objectStream('1 0 <</S/JavaScript>>', '/N 1/First 4/Filter/FlateDecode'),
    ],
    ['JavaScript that belongs to a rendition', '<</S/Rendition/JS (app.alert(1))>>'],
    ['a file in an annotation', '<</Subtype/FileAttachment/FS 3 0 R>>'],
    ['a file without a type', '<</F(a.exe)/EF <</F 2 0 R>>>>'],
    ['a reference to a file without a type', '<</F(a.exe)/EF 2 0 R>>'],
    ['a form with scripts behind a comment', '<</XFA%\n[1 0 R]>>'],
    ['a form with scripts whose number has a sign', '<</XFA +1 0 R>>'],
    ['a file behind a comment', '<</EF%a comment\r <</F 2 0 R>>>>'],
    ['a file behind a comment with another name', '<</EF%/EF \n2 0 R>>'],
    ['a reference to a file with a comment in it', '<</EF 2%\n0 R>>'],
    ['a file behind a comment of 10 MiB', `<</EF%${'x'.repeat(10 * 1024 * 1024)}\n2 0 R>>`],
    ['a file behind a comment of 1,000 characters', `<</EF%${'x'.repeat(1_000)}\n2 0 R>>`],
    ['a file behind a comment of 999 characters', `<</EF%${'x'.repeat(999)}\n2 0 R>>`],
    ['a reference to a file with leading zeros', `<</EF ${'0'.repeat(20)}2 0 R>>`],
  ])('is refused with %s', (_what, object) => {
    expect(checkContent(pdf('<</Type/Page>>', object), 'application/pdf')).toBe('active_content')
  })

  test.each([
    ['is encrypted', '<</Encrypt 5 0 R>>'],
    [
      'has compressed objects that cannot be read',
      '<</Type/ObjStm/Filter/LZWDecode>>\nstream\nnot compressed\nendstream',
    ],
    ['has compressed objects without a stream', '<</Type/ObjStm>>'],
    ['has rearranged compressed objects', objectStream('1 0 <<>>', `${FLATE}/DecodeParms<</Predictor 12>>`)],
    [
      'has compressed objects with parameters elsewhere',
      objectStream('1 0 <<>>', `${FLATE}/DecodeParms 5 0 R`),
    ],
    [
      'has compressed objects with an escaped name',
      objectStream('1 0 <<>>', '/Type/Obj#53tm/Filter/FlateDecode'),
    ],
    [
      'compresses its objects twice',
      objectStream('1 0 <<>>', '/Type/ObjStm/Filter[/FlateDecode /FlateDecode]'),
    ],
    [
      'encodes its objects again',
      objectStream('1 0 <<>>', '/Type/ObjStm/Filter[/FlateDecode/ASCIIHexDecode]'),
    ],
    ['names the filter of its objects elsewhere', objectStream('1 0 <<>>', '/Type/ObjStm/Filter 5 0 R')],
    ['names two filters of its objects', objectStream('1 0 <<>>', `${FLATE}/F/ASCIIHexDecode`)],
    [
      'has other compressed objects in a text of the dictionary',
      objectStream('1 0 <</S/JavaScript>>', `${FLATE}/X(>>stream\n${deflateSync('').toString('latin1')})`),
    ],
    ['hides a filter with a private name', objectStream(HIDDEN, `/Filter/FlateDecode/aobj<</Y 1>>${REST}`)],
    ['hides a filter before an object', objectStream(HIDDEN, `/Filter/FlateDecode 5 0 obj<<${REST}`)],
    ['hides a filter before objects', objectStream(HIDDEN, `/Filter/FlateDecode/X[5 0 obj<</Y 1>>]${REST}`)],
    [
      'hides a filter before the end of an object',
      objectStream(HIDDEN, `/Filter/FlateDecode endobj\n5 0 obj<<${REST}`),
    ],
    ['hides a filter before a comment', objectStream(HIDDEN, `/Filter/FlateDecode%obj<<\n${REST}`)],
    ['hides a filter before a text', objectStream(HIDDEN, `/Filter/FlateDecode/X(obj<<)${REST}`)],
    ['hides a filter before hexadecimal text', objectStream(HIDDEN, `/Filter/FlateDecode/X<obj<<>${REST}`)],
    ['hides a filter in a dictionary', objectStream(HIDDEN, `/Filter/FlateDecode/X<<>>${REST}`)],
    ['hides parameters before an object', objectStream(HIDDEN, `/DP<<>>\n5 0 obj<<${FLATE}${REST}`)],
    ['says elsewhere where its objects begin', objectStream(HIDDEN, '/Filter/LZWDecode/First 6 0 R')],
    ['nearly says elsewhere where they begin', objectStream(HIDDEN, '/Filter/LZWDecode/First 4 5 Rx')],
    ['says so before the end of an array', objectStream(HIDDEN, '/Filter/LZWDecode/First 6 0 R/X[>>]')],
    ['says so before an end of the object', objectStream(HIDDEN, '/First 6 0 R endobj/Filter/LZWDecode')],
    [
      'says so before a comment with an end',
      objectStream(HIDDEN, '/First 6 0 R%>>endobj\n/Filter/LZWDecode'),
    ],
    ['says so before a text with an end', objectStream(HIDDEN, '/First 6 0 R/X(>>endobj)/Filter/LZWDecode')],
    [
      'says so and has a comment before its stream',
      '<</First 6 0 R/Filter/LZWDecode>>% >>\nstream\nx\nendstream',
    ],
    [
      'says so in a dictionary that begins twice',
      '<</First 6 0 R/Filter/LZWDecode<<>>stream\nx\nendstream>>',
    ],
    [
      'has a comment before the dictionary of its objects',
      bytesOf('%<<>>\n', objectStream(HIDDEN, `${FLATE}%`)),
    ],
    ['has an outline that names nothing', '<</First 4 5 Rx>>'],
    ['has an outline with the end of an array only', '<</First 12 0 R/X<<]>>'],
    ['has an outline with the begin of an array only', '<</First 12 0 R/X[>>>>'],
    ['has an object in an outline', '<</First 12 0 R/X(obj<</Y 1>>)>>'],
    [
      'has an outline with a stream behind hexadecimal text',
      '<</First 6 0 R/Filter/LZWDecode/X<3E>>>\nstream\nx\nendstream',
    ],
    [
      'has an outline with a stream behind a comment',
      '<</First 6 0 R/Filter/LZWDecode%\r>>\nstream\n>>\nendstream',
    ],
    [
      'has an outline and many objects that begin in comments',
      `<</First 12 0 R>>\nendobj\n${'5 0 obj%'.repeat(1_000)}`,
    ],
    ['has an outline in too many arrays', `<</First 6 0 R/X${'['.repeat(200)}${']'.repeat(200)}>>`],
    ['has compressed objects in others', objectStreamOf(deflateSync(objectStream('1 0 <<>>'), { level: 0 }))],
    ['has more compressed objects than are read', objectStream('x'.repeat(17 * 1024 * 1024))],
  ])('is refused when it %s', (_what, object) => {
    expect(checkContent(pdf(object), 'application/pdf')).toBe('malformed')
  })

  test('is inflated once, however often a stream is named', () => {
    const types = '/Type/ObjStm'.repeat(5)
    const object = objectStream('x'.repeat(4 * 1024 * 1024), `${types}/First 4/Filter/FlateDecode`)
    expect(checkContent(pdf(object), 'application/pdf')).toBeUndefined()
  })

  test('is refused with object streams that say elsewhere where they begin and have active content', () => {
    const object = objectStream(HIDDEN, '/Filter/FlateDecode/First 6 0 R')
    expect(checkContent(pdf(object), 'application/pdf')).toBe('active_content')
    const commented = bytesOf('%<<>>\n', object)
    expect(checkContent(pdf(commented), 'application/pdf')).toBe('active_content')
  })

  test('is refused with an object stream that a later version of the file adds', () => {
    const update = bytesOf('5 0 obj', objectStream(HIDDEN), '\nendobj\n%%EOF\n')
    expect(checkContent(bytesOf(pdf(), update), 'application/pdf')).toBe('active_content')
  })

  test('may have objects of 16 MiB in all its object streams together', () => {
    const objects = objectStream('x'.repeat(6 * 1024 * 1024))
    expect(checkContent(pdf(objects, objects), 'application/pdf')).toBeUndefined()
    expect(checkContent(pdf(objects, objects, objects), 'application/pdf')).toBe('malformed')
  })

  test('is refused when an object stream begins in the bytes of another one', () => {
    const inner = bytesOf('9 0 obj', objectStream('1 0 <<>>'), '\nendobj\n')
    const outer = objectStreamOf(deflateSync(inner, { level: 0 }))
    expect(checkContent(pdf(outer), 'application/pdf')).toBe('malformed')
  })

  test('may have 1,000 object streams', () => {
    const objects = Array.from({ length: 1_000 }, () => objectStream('1 0 <<>>'))
    expect(checkContent(pdf(...objects), 'application/pdf')).toBeUndefined()
    expect(checkContent(pdf(...objects, objectStream('1 0 <<>>')), 'application/pdf')).toBe('malformed')
  })
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
