import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

let door: TestDoor
beforeAll(async () => {
  door = await startDoor([])
})
afterAll(async () => door[Symbol.asyncDispose]())

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${door.url}${path}`, { headers })

test.each(['/', '/overview', '/payments/01a2', '/search?q=a.b'])(
  'the page of %s may run its own scripts only (O13.1)',
  async (path) => {
    const page = await get(path)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(await page.text()).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/)
  },
)

test('the files of the page are kept permanently, and the one that loads them never (O13.3)', async () => {
  const page = await (await get('/')).text()
  const assets = [...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(assets.length).toBeGreaterThan(2)
  for (const path of assets) {
    const asset = await get(path, { 'accept-encoding': 'br' })
    expect([path, asset.status, asset.headers.get('cache-control')]).toEqual([
      path,
      200,
      'public, max-age=31536000, immutable',
    ])
    expect(asset.headers.get('content-encoding')).toBe('br')
  }
  expect((await get('/start.js')).headers.get('cache-control')).toBe('no-store')
})

test('a client without brotli gets the same text', async () => {
  const [packed, unpacked] = await Promise.all([
    get('/start.js', { 'accept-encoding': 'br' }),
    get('/start.js', { 'accept-encoding': 'identity' }),
  ])
  expect(unpacked.headers.get('content-encoding')).toBeNull()
  expect(await packed.text()).toBe(await unpacked.text())
})

test.each(['/assets/main-OLDHASH1.js', '/assets/..%2Findex.html', '/a/b/c', '/multihub.x.v1.Y/Z'])(
  '%s is missing, and no cache keeps that',
  async (path) => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store'])
    expect(answer.headers.get('content-type')).toBe('text/plain')
  },
)
