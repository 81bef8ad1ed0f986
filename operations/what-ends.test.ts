import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { readDeclarations } from '#lib/store/declarations.ts'
import { ROOT } from '../scripts/sources/sources.ts'
import { BACKUP_ORDER, loadOperations } from './databases.ts'

const page = await readFile(join(ROOT, 'docs/architecture/store.md'), 'utf8')
const [, section = ''] = page.split('## What ends a document')
const rows = [...section.matchAll(/^\| (\w+) \| (`.*?`) \| (.+) \|$/gm)].flatMap(
  ([, role = '', names = '', ending = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ collection: `${role} ${name}`, ending })),
)

// Data that grows without an end is a decision, and not forgotten.
test('the page says what ends the documents of each collection, and nothing of other collections', async () => {
  const declared = (
    await Promise.all(
      (
        await loadOperations(BACKUP_ORDER)
      ).map(async ({ name: role, openCollections }) => {
        const { collections } = await readDeclarations(openCollections)
        return collections.map(({ name, expires, indexes = {} }) => ({
          collection: `${role} ${name}`,
          expires: expires !== undefined,
          ends_in_test: 'by_test_end' in indexes,
        }))
      }),
    )
  ).flat()
  const described = rows.map(({ collection, ending }) => ({
    collection,
    expires: /\bexpiry\b/.test(ending),
    ends_in_test: ending.startsWith('test retention'),
  }))
  const byName = (one: { collection: string }, other: { collection: string }) =>
    one.collection < other.collection ? -1 : 1
  expect(described.sort(byName)).toEqual(declared.sort(byName))
})
