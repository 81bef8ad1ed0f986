import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { beforeAll, expect, test } from '@jest/globals'
import { BUNDLE, buildBundle } from './build.ts'

/** The committed files by their paths in the bundle. */
let committed: ReadonlyMap<string, Uint8Array>
beforeAll(async () => {
  const entries = await readdir(BUNDLE, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = paths.map(async (path) => [path.slice(BUNDLE.length + 1), await readFile(path)] as const)
  committed = new Map(await Promise.all(files))
})

test('the committed bundle is what its sources give; "npm run generate" renews it', async () => {
  const built = await buildBundle()
  expect([...committed.keys()].sort()).toEqual([...built.keys()].map((path) => `${path}.br`).sort())
  for (const [path, bytes] of built) {
    const text = brotliDecompressSync(committed.get(`${path}.br`) ?? new Uint8Array()).toString()
    expect(text === Buffer.from(bytes).toString()).toBe(true)
  }
})

test('no file speaks of another host than the one that it came from', () => {
  const hosts = [...committed.values()].flatMap((bytes) => [
    ...brotliDecompressSync(bytes)
      .toString()
      .matchAll(/https?:\/\/([\w.-]+)/g),
  ])
  // Names of namespaces and links in messages of libraries; no file is loaded from them.
  const known = ['www.w3.org', 'react.dev', 'tanstack.com', 'github.com', '127.0.0.1', 'localhost']
  expect([...new Set(hosts.map(([, host = '']) => host))].filter((host) => !known.includes(host))).toEqual([])
})

// The first view is everything but the pages that are loaded when somebody opens them; that is checked in a browser.
test('all files together have at most 350 kB', () => {
  const sizes = [...committed.values()].map((bytes) => bytes.length)
  expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(350_000)
})
