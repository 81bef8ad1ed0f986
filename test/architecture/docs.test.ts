import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { generatedFiles } from '../../scripts/docs/pages.ts'
import { ROOT, readPages, readSources, readTexts } from '../../scripts/sources/sources.ts'

const texts = new Map((await readPages()).map(({ path, text }) => [path, text]))

/** A link within the project: the file that it leads to and, if it has one, the anchor there. */
interface Link {
  readonly page: string
  readonly target: string
  readonly anchor: string | undefined
}

const links: readonly Link[] = [...texts].flatMap(([page, text]) =>
  [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', anchor]) => ({
    page,
    target: path === '' ? page : join(dirname(page), path),
    anchor,
  })),
)

test('generated parts of pages are current (else run npm run docs)', async () => {
  const stale = (await generatedFiles()).filter(({ current, wanted }) => current !== wanted)
  expect(stale.map(({ path }) => path)).toEqual([])
})

test('every link leads to a file or folder of the project', async () => {
  expect(links.length).toBeGreaterThan(10)
  const dead = await Promise.all(
    links.map(({ page, target }) =>
      access(join(ROOT, target)).then(
        () => [],
        () => [`${page} links to ${target}`],
      ),
    ),
  )
  expect(dead.flat()).toEqual([])
})

test('every link to a part of a page leads to a heading or an anchor', () => {
  const dead = links.filter(
    ({ target, anchor }) => anchor !== undefined && texts.has(target) && !anchorsOf(target).has(anchor),
  )
  expect(dead.map(({ page, target, anchor }) => `${page} links to ${target}#${anchor}`)).toEqual([])
})

/** The anchors of a page: those written out, and those that are made from its headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = texts.get(page) ?? ''
  const written = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, anchor = '']) => anchor)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/<[^>]*>|[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...written, ...headings])
}

test('every file of the project that a page names exists', async () => {
  const path =
    /(?<![\w./-])(?:bench|deploy|docs|gateway|lib|operations|proofs|proto|scripts|services|test)\/[\w./-]+\.(?:ts|mjs|json|md|sh|yaml|proto)\b/g
  const named = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(path)].map(([file]) => ({ page, file })),
  )
  const dead = await Promise.all(
    named.map(({ page, file }) =>
      access(join(ROOT, file)).then(
        () => [],
        () => [`${page} names ${file}`],
      ),
    ),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(dead.flat()).toEqual([])
})

test('every setting and metric that a page names exists in the code', async () => {
  const code = (await readSources()).map(({ text }) => text).join('\n')
  const named = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\b(?:MULTIHUB|multihub)_\w+/g)].map(([name]) => ({
      page,
      // A histogram has series with these endings.
      name: name.replace(/^(multihub_\w+_seconds)_(bucket|count|sum)$/, '$1'),
    })),
  )
  expect(named.length).toBeGreaterThan(50)
  // The code makes the name of the variable for the file of a secret.
  const isFileOfSecret = (name: string): boolean => {
    const [, variable] = /^(.*)_FILE$/.exec(name) ?? []
    return (
      variable !== undefined && new RegExp(`(?:secretSetting|keysSetting)\\(\\s*'${variable}'`).test(code)
    )
  }
  const unknown = named.filter(({ name }) => !code.includes(name) && !isFileOfSecret(name))
  expect(unknown.map(({ page, name }) => `${page} names ${name}`)).toEqual([])
})

test('every field and log line that a page for operators or teams names exists in a proto or in the code', async () => {
  const sources = (await readTexts()).filter(({ path }) => !path.endsWith('.md'))
  const manifests = await readBelow('deploy', /\.(?:sh|yaml|json)$/)
  const code = [...sources.map(({ text }) => text), ...manifests].join('\n').replace(/\s+/g, ' ')
  const words = new Set(code.match(/\w+/g))
  const spans = [...texts]
    .filter(([page]) => /^docs\/(operators\/|internal-teams)/.test(page))
    .flatMap(([page, text]) => spansIn(text).map((span) => ({ page, text, span })))
  const fields = spans.filter(({ span }) => /^[a-z]+(?:[_A-Z][a-zA-Z0-9]*)+$/.test(span))
  const lines = spans.filter(
    ({ span }) => /^[a-z][a-z']+(?: [a-z',-]+){2,}$/.test(span) && !/^npm /.test(span),
  )
  expect(fields.length).toBeGreaterThan(100)
  expect(lines.length).toBeGreaterThan(3)
  const snakeOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const unknown = [
    ...fields.filter(
      ({ span, text }) => !words.has(span) && !words.has(snakeOf(span)) && !text.includes(`${span}() {`),
    ),
    ...lines.filter(({ span }) => !code.includes(span)),
  ]
  expect(unknown.map(({ page, span }) => `${page} names ${span}`)).toEqual([])
})

/** The code spans of a page outside its blocks, each on one line. */
function spansIn(text: string): readonly string[] {
  const prose = text.replace(/^ *```.*?^ *```/gms, '')
  return [...prose.matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map(([, span = '']) => span.replace(/\s+/g, ' '))
}

async function readBelow(folder: string, wanted: RegExp): Promise<readonly string[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true })
  return Promise.all(
    names.filter((name) => wanted.test(name)).map((name) => readFile(join(ROOT, folder, name), 'utf8')),
  )
}

test('every npm script that a page names exists, and there are at most 18', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const named = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, name = '']) => name),
  )
  expect(named.filter((name) => !(name in scripts))).toEqual([])
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(18)
})

test('the overview of the architecture has at most 1,200 words, tables included and drawings aside', () => {
  const words = (texts.get('docs/architecture/README.md') ?? '').replace(/```.*?```/gs, '').split(/\s+/)
  expect(words.filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(1_200)
})

test('the RPCs of each proto service are implemented in the file that the page of the architecture says', async () => {
  const protos = await readdir(join(ROOT, 'proto', 'multihub'), { recursive: true })
  const services = protos.flatMap((path) => {
    const [, service, noun = ''] = /^(\w+)\/v1\/(\w+)_service\.proto$/.exec(path) ?? []
    const folder = service === 'gateway' ? 'gateway' : `services/${service}`
    return service === undefined ? [] : [`${folder}/rpc/${noun.replaceAll('_', '-')}-service.ts`]
  })
  expect(services.length).toBeGreaterThan(5)
  // A service with parts, such as support, has the folder in the part.
  const code = new Set(
    (await readSources()).map(({ path }) => path.replace(/^(services\/\w+)\/[\w-]+\/rpc\//, '$1/rpc/')),
  )
  expect(services.filter((path) => !code.has(path))).toEqual([])
})
