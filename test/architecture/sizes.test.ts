import { expect, test } from '@jest/globals'
import { isTest, readSources } from '../../scripts/sources/sources.ts'

const sources = await readSources()
const code = sources.filter((file) => !isTest(file))

test('no file has more than 400 lines', () => {
  expect(sources.filter(({ lines }) => lines > 400).map(({ path }) => path)).toEqual([])
})

test('every export has a doc comment of 1 to 6 lines', () => {
  const exported =
    /^export (?:default )?(?:async )?(?:function|const|class|interface|type|abstract class) ?\*? ?(\w+)/
  const violations = code.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, index) => {
      const name = exported.exec(line)?.[1]
      if (name === undefined) return []
      const size = commentAbove(lines, index)
      return size >= 1 && size <= 6 ? [] : [`${path}: ${name} has a comment of ${size} lines`]
    })
  })
  expect(violations).toEqual([])
})

test('no object spreads a literal, which only puts several properties into one line', () => {
  const spread = /\.\.\.\{/
  expect(sources.filter(({ text }) => spread.test(text)).map(({ path }) => path)).toEqual([])
})

/** The number of text lines of the doc comment directly above a line; 0 without a doc comment. */
function commentAbove(lines: readonly string[], index: number): number {
  let end = index - 1
  while (lines[end]?.startsWith('// biome-ignore')) end -= 1
  if (!lines[end]?.trimEnd().endsWith('*/')) return 0
  let start = end
  while (start >= 0 && !lines[start]?.startsWith('/**')) start -= 1
  const text = lines
    .slice(start, end + 1)
    .map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*)?|\*\/$/g, '').trim())
  return start < 0 ? 0 : text.filter((line) => line !== '').length
}
