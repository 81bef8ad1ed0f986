import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type ReadPart, readParts } from './read-parts.ts'

/** A part with these items, whose pages have at most `max` of them. */
function partOf(items: readonly string[], max: number): ReadPart<string> {
  return async ({ page_size, page_token }) => {
    const first = Number(page_token || 0)
    const end = first + Math.min(page_size, max)
    return { items: items.slice(first, end), next_page_token: end < items.length ? String(end) : '' }
  }
}

// O6, O19
test('the pages have all items of all parts in order, none twice, and no page with a token is empty', async () => {
  const parts = fc.array(fc.tuple(fc.nat({ max: 9 }), fc.integer({ min: 1, max: 5 })), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 1, max: 7 }), async (sizes, page_size) => {
      const all = sizes.map(([count], part) => Array.from({ length: count }, (_, item) => `${part}/${item}`))
      const sources = all.map((items, part) => partOf(items, sizes[part]?.[1] ?? 1))
      const read: string[] = []
      let page_token = ''
      do {
        const page = await readParts(sources, { page_size, page_token })
        expect(page.items.length).toBeLessThanOrEqual(page_size)
        if (page.next_page_token !== '') expect(page.items).not.toEqual([])
        read.push(...page.items)
        page_token = page.next_page_token
      } while (page_token !== '')
      expect(read).toEqual(all.flat())
    }),
  )
})

test.each(['x', '2.', '-1.', '1', '1e0.'])('the token %s is refused with 9000', async (page_token) => {
  const sources = [partOf(['a'], 1), partOf(['b'], 1)]
  await expect(readParts(sources, { page_size: 1, page_token })).rejects.toMatchObject({ code: 9000 })
})

test.each([-1, 1_001])('a page of %i is refused with 9000', async (page_size) => {
  await expect(readParts([], { page_size, page_token: '' })).rejects.toMatchObject({ code: 9000 })
})
