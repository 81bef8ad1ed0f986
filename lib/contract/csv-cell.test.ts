import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { csvCell } from './csv-cell.ts'

test.each([
  ['deposit', 'deposit'],
  ['', ''],
  ['a "quoted", text', '"a ""quoted"", text"'],
  ['two\nlines', '"two\nlines"'],
  ['=HYPERLINK("http://evil")', `"'=HYPERLINK(""http://evil"")"`],
  ['+1 555', "'+1 555"],
  ['=a,b', '"\'=a,b"'],
  ['+1', "'+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['-2+3', "'-2+3"],
  ['-1e5', "'-1e5"],
  [' =1', "' =1"],
  ['\t=1', "'\t=1"],
  ['\ta', "'\ta"],
  ['\r=1', `"'\r=1"`],
  ['\uff1d1+1', "'\uff1d1+1"],
  ['\uff0b1', "'\uff0b1"],
  ['\uff0d1', "'\uff0d1"],
  ['\uff20A1', "'\uff20A1"],
  ['a=1', 'a=1'],
  // A number is no formula.
  ['-1', '-1'],
  ['-1234.50', '-1234.50'],
  ['7', '7'],
])('the text %j is the cell %s', (text, expected) => {
  expect(csvCell(text)).toBe(expected)
})

test('what a spreadsheet reads from a cell never begins as a formula', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('=', '-', '+', '@', '"', ',', ' ', '\t', '\n', '1', 'x') }),
      (text) => {
        const cell = csvCell(text)
        const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
        expect(read.replace(/^'/, '')).toBe(text.startsWith("'") ? text.slice(1) : text)
        if (/^\s*[=+@-]/.test(read)) expect(read).toMatch(/^-?\d+$/)
      },
    ),
  )
})
