import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { generatedPages } from '../../scripts/docs.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const written = await readdir(join(ROOT, 'docs'), { recursive: true })
const pages = ['README.md', ...written.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
const texts = new Map(
  await Promise.all(pages.map(async (page) => [page, await readFile(join(ROOT, page), 'utf8')] as const)),
)

test('what pages say of the code is what the code says (else: npm run docs)', async () => {
  const stale = (await generatedPages()).filter(({ current, wanted }) => current !== wanted)
  expect(stale.map(({ path }) => path)).toEqual([])
})

test('every link within the project leads somewhere', async () => {
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => join(dirname(page), target)),
  )
  expect(links.length).toBeGreaterThan(10)
  const dead = await Promise.all(
    links.map((link) =>
      access(join(ROOT, link)).then(
        () => [],
        () => [link],
      ),
    ),
  )
  expect(dead.flat()).toEqual([])
})

test('every npm script that a page names exists, and there are at most 15', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const named = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, name = '']) => name),
  )
  expect(named.filter((name) => !(name in scripts))).toEqual([])
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(15)
})
