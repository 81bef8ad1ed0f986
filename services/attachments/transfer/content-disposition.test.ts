import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isAttachmentName } from '#lib/contract/attachments.ts'
import { contentDisposition } from './handle-transfer.ts'

// F6
describe('the header of a download', () => {
  test.each([
    ['receipt.pdf', 'attachment; filename="receipt.pdf"; filename*=UTF-8\'\'receipt.pdf'],
    [
      'Beleg ä "1".PDF',
      'attachment; filename="Beleg _ _1_.PDF"; filename*=UTF-8\'\'Beleg%20%C3%A4%20%221%22.PDF',
    ],
    ['100%25.pdf', 'attachment; filename="100_25.pdf"; filename*=UTF-8\'\'100%2525.pdf'],
    ['page.html', 'attachment; filename="page.html.pdf"; filename*=UTF-8\'\'page.html.pdf'],
    ['no ending', 'attachment; filename="no ending.pdf"; filename*=UTF-8\'\'no%20ending.pdf'],
  ])('has the name %s as data, with an ending of its type', (name, header) => {
    expect(contentDisposition(name, 'application/pdf')).toBe(header)
  })

  test('keeps each ending of a type', () => {
    expect(contentDisposition('a.JPEG', 'image/jpeg')).toContain('filename="a.JPEG"')
    expect(contentDisposition('a.jpg', 'image/jpeg')).toContain('filename="a.jpg"')
  })

  test('is one header of visible ASCII, whatever the name is, and gives the name back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }).filter(isAttachmentName), (name) => {
        const header = contentDisposition(`${name}.txt`, 'text/plain')
        const [, quoted, encoded = ''] =
          /^attachment; filename="([ !#-[\]-~]*)"; filename\*=UTF-8''([!#$%&+.^_`|~\w-]*)$/.exec(header) ?? []
        expect(quoted).toBeDefined()
        expect(decodeURIComponent(encoded)).toBe(`${name}.txt`)
      }),
    )
  })
})
