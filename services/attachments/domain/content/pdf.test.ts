import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { checkContent } from './check-content.ts'
import { bytesOf, objectStream, objectStreamOf, pdf } from './samples.fixture.ts'

/** The dictionary of an object stream, as far as its decoding needs it. */
const FLATE = '/Type/ObjStm/Filter/FlateDecode'
const HIDDEN = '1 0 <</S/JavaScript>>'
/** What opens the URL in object 8, and the object. */
const opening = (reference: string, header = '8 0 obj'): string =>
  `<</OpenAction<</S/GoTo/Next ${reference}>>>>\nendobj\n${header}<</S/URI/URI(https://host)>>`
/** The end of an object stream's dictionary whose begin is before it, in what looks like another object. */
const REST = '/Type/ObjStm/N 1/First 4'
describe('a PDF', () => {
  test.each([
    ['JavaScript', '<</S/JavaScript/JS(app.alert(1))>>'],
    ['JavaScript with an escaped name', '<</S/J#61vaScr#69pt/JS(app.alert(1))>>'],
    ['JavaScript with an escaped letter', '<</S/#4AavaScript/JS(app.alert(1))>>'],
    ['JavaScript with a letter that is escaped in lower case', '<</S/#4aavaScript/JS(app.alert(1))>>'],
    ['JavaScript of a model in three dimensions', '<</Type/3D/Subtype/U3D/OnInstantiate 5 0 R>>'],
    ['a program to start', '<</S/Launch/F(cmd.exe)>>'],
    ['data to import', '<</S/ImportData/F(//host/a.fdf)>>'],
    ['a jump to a file in another one', '<</S/GoToE/F(//host/a.pdf)>>'],
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
    ['a reference to a file with comments around its number', '<</EF%\n2%\n0 R>>'],
    ['a reference to a file behind two comments', '<</EF%\n%\n2 0 R>>'],
    ['a file behind a comment of 10 MiB', `<</EF%${'x'.repeat(10 * 1024 * 1024)}\n2 0 R>>`],
    ['a file behind a comment of 1,000 characters', `<</EF%${'x'.repeat(1_000)}\n2 0 R>>`],
    ['a file behind a comment of 999 characters', `<</EF%${'x'.repeat(999)}\n2 0 R>>`],
    ['a reference to a file with leading zeros', `<</EF ${'0'.repeat(20)}2 0 R>>`],
    ['a jump to another file', '<</A<</S/GoToR/F(\\\\host\\a.pdf)/D[0/Fit]>>>>'],
    ['a thread of another file', '<</S/Thread/F(//host/a.pdf)>>'],
    ['a form that is sent', '<</S/SubmitForm/F(https://host)>>'],
    ['a movie', '<</Subtype/Movie/Movie 5 0 R>>'],
    ['a sound', '<</S/Sound/Sound 5 0 R>>'],
    ['a jump with an escaped name', '<</A<</S/GoTo#52/F(a.pdf)>>>>'],
    ['a jump in compressed objects', objectStream('1 0 <</S/#47oToR/F(a.pdf)>>')],
    ['a URL that it opens', '<</OpenAction<</S/URI/URI(https://host)>>>>'],
    ['a URL that it opens, with escaped names', '<</OpenActio#6e<</S/#55RI/U#52I(https://host)>>>>'],
    ['a URL that a page opens', '<</AA<</O<</S/URI/URI(https://host)>>>>>>'],
    ['a URL in another object', '<</OpenAction 8 0 R>>\nendobj\n8 0 obj<</S/URI/URI(https://host)>>'],
    ['a URL of a mouse button', '<</AA<</D 8 0 R>>>>\nendobj\n8 0 obj<</S/URI/URI(https://host)>>'],
    [
      'a URL behind comments',
      '<</OpenAction%\n8%(\n0%\nR>>\nendobj\n8%\n0%\nobj%\n<</S/URI/URI(https://host)>>',
    ],
    [
      'a URL that follows a jump',
      '<</OpenAction<</S/GoTo/X(a (b) % )/D[3 0 R/Fit]/Next[8 0 R]>>>>\nendobj\n8 0 obj<</S/URI>>',
    ],
    ['a URL as an array and a jump', '<</AA<</O<</D 9 0 R/Next 9 0 R>>>>>>\nendobj\n9 0 obj[<</S/URI>>]'],
    [
      'a URL that a later version opens',
      '<</OpenAction 8 0 R>>\nendobj\n8 0 obj null\nendobj\n8 0 obj<</S/URI/URI(https://host)>>',
    ],
    [
      'a URL in compressed objects',
      objectStream('1 0 8 21 <</OpenAction 8 0 R>><</S/#55RI>>', `${FLATE}/N 2/First 9`),
    ],
    [
      'a URL in compressed objects that seem to begin before their numbers',
      bytesOf(
        '<</OpenAction 8 0 R>>\nendobj\n5 0 obj',
        objectStream('8 4 <</S/URI>>', `${FLATE}/N 1/First 0`),
      ),
    ],
    ['a URL behind a parenthesis in hexadecimal text', opening('0/X<(>/Next 8 0 R/Y<)>')],
    ['a URL behind a percent sign in hexadecimal text', opening('0/X<%>/Next 8 0 R')],
    ['a page of another file', '<</Subtype/Form/Ref<</F(//host/a.pdf)/Page 0>>>>'],
    ['a reference to a page of another file', '<</Subtype/Form/Ref 8 0 R>>'],
    ['content that is at a URL', '<</Length 0/F<</FS/URL/F(https://host)>>>>\nstream\nendstream'],
    ['content that is at a URL, with an escaped name', '<</F<</FS /U#52L/F(https://host)>>>>'],
    ['a URL that is named elsewhere', '<</F<</FS 8 0 R/F(https://host)>>>>'],
    ['content in a file', '<</Length 0/F(\\\\\\\\host\\\\share)/FFilter/FlateDecode>>\nstream\nendstream'],
    ['content in a file with an escaped name', '<</#46 (\\\\host\\a)/Length 0>>\nstream\nendstream'],
    ['content in a file in hexadecimal text', '<</Length 0/F<5C5C68>>>stream\nendstream'],
    [
      'content in a file that is described',
      '<</F<</Type/Filespec/UF(//host/a)>>/Length 0>>stream\nendstream',
    ],
    ['content in a file that is named elsewhere', '<</F 8 0 R/Length 0>>%\nstream\nendstream'],
    ['content in a file behind a comment', '<</F%\n(//host/a)/Length 0>>stream\nendstream'],
    ['content in a file after other keys', '<</X[<</Y(>>)>>]/F(//host/a)/Z<</Y 1>>>>stream\nendstream'],
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
      'has an outline and many objects with comments behind them',
      `<</First 12 0 R>>\nendobj\n${'5 0 obj<<>>%'.repeat(1_000)}`,
    ],
    [
      'has an outline and many objects that begin in comments',
      `<</First 12 0 R>>\nendobj\n${'5 0 obj%'.repeat(1_000)}`,
    ],
    ['has an outline in too many arrays', `<</First 6 0 R/X${'['.repeat(200)}${']'.repeat(200)}>>`],
    ['has compressed objects in others', objectStreamOf(deflateSync(objectStream('1 0 <<>>'), { level: 0 }))],
    [
      'opens something and says elsewhere where its objects begin',
      bytesOf(
        '<</OpenAction 8 0 R>>\nendobj\n5 0 obj',
        objectStream('8 0 <</S/URI>>', `${FLATE}/First 6 0 R`),
      ),
    ],
    ['opens something with a fraction as its number', opening('8.0 0 R')],
    ['opens something with an exponent in its number', opening('80e-1 0 R')],
    ['opens something with a sign before its generation', opening('8 +0 R')],
    ['opens something with a fraction as its generation', opening('8 0.0 R')],
    ['opens something without a space in its reference', opening('8 0R')],
    ['opens something and has a fraction as the number of an object', opening('8 0 R', '8.0 0 obj')],
    ['opens something and has an exponent in the number of an object', opening('8 0 R', '80E-1 0 obj')],
    ...['/N 1/First 4/First 9', '/N 1/N 2/First 9', '/First 9', '/N 1 0 R/First 9', '/N 3/First 9'].map(
      (numbers): [string, Buffer] => [
        `opens something and numbers its compressed objects with ${numbers}`,
        objectStream('1 0 8 21 <</OpenAction 8 0 R>><</S/#55RI>>', `${FLATE}${numbers}`),
      ],
    ),
    [
      'opens something and has a comment before the number of a compressed object',
      objectStream('1 0 %\n8 21 <</OpenAction 8 0 R>><</S/#55RI>>', `${FLATE}/N 2/First 11`),
    ],
    ['has objects that could be compressed', '<</Type/ObjStm/N 1/First 4>>\nstream\n1 0 <<>>\nendstream'],
    ['has more compressed objects than are read', objectStream('x'.repeat(17 * 1024 * 1024))],
  ])('is refused when it %s', (_what, object) => {
    expect(checkContent(pdf(object), 'application/pdf')).toBe('malformed')
  })

  test.each([
    ['directly', '<</OpenAction[3 0 R/Fit]'],
    ['by a reference', '<</OpenAction 8 0 R>>\nendobj\n8 0 obj[3 0 R/Fit]\nendobj\n9 0 obj<<'],
    ['that has an R in its name', '<</OpenAction<</S/GoTo/D/ChapteR>>'],
  ])('may open a page with a link %s', (_how, start) => {
    const page =
      '>>\nendobj\n3 0 obj<</Type/Page/Annots[4 0 R]>>\nendobj\n4 0 obj<</A<</S/URI/URI(http://x)>>>>'
    expect(checkContent(pdf(start + page), 'application/pdf')).toBeUndefined()
  })

  test.each([
    ['flags', '<</Subtype/Link/F 4/Rect[0 0 1 1]>>'],
    ['a font with this name', '<</Resources<</Font<</F 5 0 R>>>>/Length 0>>stream\nendstream'],
    ['a key in a text', '<</Title(/F(a)/F 5 0 R)>>'],
    ['a filter', '<</Length 2/Filter/FlateDecode>>stream\n/F(>>\nendstream'],
    [
      'bytes of a stream',
      '<</Length 9>>stream\n/F<0>1]2>3\nendstream\nendobj\n8 0 obj<</Length 0>>stream\nendstream',
    ],
    ['bytes of a stream behind a keyword', '<</Length 9>>stream\nx5obj(\n/F<0>1]\nendstream'],
    ['a comment before a number in the bytes of a stream', '<<>>stream\n/EF%a\n8!b/FS%c\n-d\nendstream'],
    ['many keys in the bytes of a stream', `<<>>stream\n${'/F('.repeat(1_000)}\nendstream`],
    ['a text with brackets', '<</Title(/F(a)])>>'],
  ])('may have what looks like a file: %s', (_what, object) => {
    expect(checkContent(pdf('<</Type/Page>>', object), 'application/pdf')).toBeUndefined()
  })

  // Random data of this length have about 40 such keys in ASCII85, and about 18 as text.
  const random = createHash('shake256', { outputLength: 8_000_000 }).update('PDF').digest()
  const charactersOf = (first: string, count: number): string =>
    Buffer.from(random.map((byte) => first.charCodeAt(0) + (byte % count))).toString('latin1')
  test.each([
    ['in ASCII85', '/Filter/ASCII85Decode', () => charactersOf('!', 85).replace(/.{76}/g, '$&\n'), '~>'],
    ['in hexadecimal', '/Filter/ASCIIHexDecode', () => random.toString('hex', 0, 4_000_000), '>'],
    [
      'as text',
      '',
      () => charactersOf(' ', 95).replace(/.{1,76}/g, (line) => `(${line.replace(/[()\\]/g, '\\$&')}) Tj\n`),
      '',
    ],
  ])('may have 8 MB of random data %s', (_how, filter, dataOf, end) => {
    const data = dataOf() + end
    const object = `<</Length ${data.length}${filter}>>\nstream\n${data}\nendstream`
    expect(checkContent(pdf('<</Type/Page>>', object), 'application/pdf')).toBeUndefined()
  })

  const deep = `${'['.repeat(200)}${']'.repeat(200)}`
  test.each([
    ['too deep', `<</F(//host/a)/X${deep}/Length 0>>stream`],
    ['closed twice', '<</F(//host/a)/X 1]/Length 0>>stream'],
    ['not closed', '<</F(//host/a)/X<</Length 0>>stream'],
    [
      'not closed, and the end of an object is in a text',
      '<</F(//host/a)/X 1]/Y(\nendstream\nendobj)>>stream',
    ],
    [
      'not closed, behind the begin of a stream in a text',
      '<</Y(\n8 0 obj<<>>stream\n)/F(//host/a)/X 1]>>stream',
    ],
    ['behind the begin of a stream in a comment', '%8 0 obj<<>>stream\n<</F(//host/a)/X 1]>>stream'],
    ['behind what is no dictionary', '<<>>stream\nendstream\nendobj\n8 0 obj)<</F(//host/a)/X 1]>>stream'],
    ['within the bytes of a stream', '<<>>stream\n8 0 obj<</F(//host/a)/X 1]>>stream\nendstream'],
    ['in a text of a stream', '<</X(/F(a)])>>stream'],
  ])('is refused with a file in a dictionary that is unclear: %s', (_what, object) => {
    const content = pdf('<</Type/Page>>', `${object}\nendstream`)
    expect(checkContent(content, 'application/pdf')).toBe('malformed')
  })

  test('is refused with more keys for files than are read', () => {
    const keys = `<</X${'/F('.repeat(1_000)}${' '.repeat(100_000)}`
    expect(checkContent(pdf(keys), 'application/pdf')).toBe('malformed')
  })

  test('may have images as text on one line, which looks like numbers before comments', () => {
    const page = '<</OpenAction[3 0 R/Fit]/A<</S/URI/URI(http://x)>>>>'
    expect(checkContent(pdf(page, '1%x'.repeat(100_000)), 'application/pdf')).toBeUndefined()
  })

  // Each bound has a file that only the bound refuses, because a check that takes longer is ended from outside (F3.4).
  test.each<[string, number, number, (count: number) => string]>([
    ['actions that run by themselves', 100_000, 100_001, (count) => '/AA[]'.repeat(count - 1)],
    ['objects', 499_990, 500_001, (count) => '1 0 obj '.repeat(count)],
    ['comments behind dictionaries with a file', 10, 1_000, (count) => `<<${'/F()>>%'.repeat(count)}`],
    ['comments behind actions', 3, 1_000, (count) => '/AA<<>>%'.repeat(count)],
    ['bytes in actions within others', 2, 100, (count) => '/AA<<'.repeat(count) + '>>'.repeat(count)],
    ['digits behind comments', 3, 10, (count) => `${'1%'.repeat(count)}\n${'0'.repeat(100_000)}`],
  ])('may have a link, and is refused with too many %s', (_what, few, many, textOf) => {
    const check = (count: number) =>
      checkContent(
        pdf('<</OpenAction[3 0 R/Fit]/A<</S/URI/URI(http://x)>>>>', textOf(count)),
        'application/pdf',
      )
    expect(check(few)).toBeUndefined()
    expect(check(many)).toBe('malformed')
  })

  test.each(['1', ' ', '1 ', '1\n'])(
    'is refused with an object stream of 4 MiB %j, which is read once',
    (part) => {
      const object = objectStream(part.repeat((4 * 1024 * 1024) / part.length))
      const page = '<</OpenAction[3 0 R/Fit]/A<</S/URI/URI(http://x)>>>>'
      expect(checkContent(pdf(page, object), 'application/pdf')).toBe('malformed')
    },
  )

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
