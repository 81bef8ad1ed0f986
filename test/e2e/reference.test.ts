import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { startBrowser, type TestBrowser } from '../support/browser.ts'
import { type SystemHere, startHere } from '../support/system.ts'

/** Redoc 2.5.4: the file bundles/redoc.standalone.js of the package `redoc` at registry.npmjs.org. */
const REDOC_SHA256 = 'dcaf76612bc4a3fbcc923a8966dee2f6146a5f32e5ce1b6f02dd60cbbf89500b'

const browser = await startBrowser()
const testInBrowser = 'open' in browser ? test : test.skip

let system: SystemHere
let reference: URL
beforeAll(async () => {
  system = await startHere({ MULTIHUB_OPENAPI: 'true' })
  reference = new URL(system.demo().reference_url)
})
afterAll(async () => {
  if ('close' in browser) await browser.close()
  await system?.end()
})

interface PanelRequest {
  readonly path?: string
  readonly verb?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request to the reference of the local run, by default one that its own page sends. */
function send({ path = '/reference/try', verb = 'POST', headers = {}, body = '' }: PanelRequest) {
  const own = { Host: reference.host, Origin: reference.origin, 'Content-Type': 'application/json' }
  const options = { hostname: reference.hostname, port: reference.port, path, method: verb }
  return new Promise<{ status: number; headers: Readonly<Record<string, unknown>>; text: string }>(
    (resolve, reject) => {
      const sent = request({ ...options, headers: { ...own, ...headers } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
      })
      // A GET has no body.
      sent.on('error', reject).end(verb === 'GET' ? '' : body)
    },
  )
}

const credential = (version: string) => {
  const found = system.demo().merchants[0]?.credentials.find(({ api_version }) => api_version === version)
  if (found === undefined) throw new Error(`demo.json has no ${version} credential`)
  return found
}

const ping = (version = 'v1'): string => {
  const { application_id } = credential(version)
  return JSON.stringify({ application_id, method: 'gateway.ping', params: {} })
}

test('Redoc is the file of its pinned version, with its licence', () => {
  const read = (name: string) => readFileSync(join(ROOT, 'gateway', 'reference', name))
  expect(createHash('sha256').update(read('redoc.standalone.js')).digest('hex')).toBe(REDOC_SHA256)
  expect(read('redoc.LICENSE').toString()).toContain('The MIT License')
})

test.each(['v1', 'v2'])(
  'a request of the panel is signed for %s and its answer verified',
  async (version) => {
    const { status, text } = await send({ body: ping(version) })
    const { request, response } = JSON.parse(text)
    expect([status, response.http_status, response.is_signed]).toEqual([200, 200, true])
    expect(request.body).toBe('{"method":"gateway.ping","params":{}}')
    expect(request.headers).toContain(`X-Data-Application-Id: ${credential(version).application_id}\n`)
    expect(JSON.parse(response.body).result).toEqual({ message: 'pong' })
    expect(text).not.toContain(credential(version).secret)
  },
)

test.each(['v1', 'v2'])('a resend of the panel is signed for a credential of %s', async (version) => {
  const { application_id } = credential(version)
  const own = { payment_id: 'a-payment', operation_id: 'resend-1' }
  const { text } = await send({ body: JSON.stringify({ application_id, method: 'webhook.resend', ...own }) })
  const { request, response } = JSON.parse(text)
  expect([request.path, request.body]).toEqual([
    '/api/v1/payments/a-payment/webhook/resend',
    JSON.stringify(own),
  ])
  // The signature was right: the refusal is about the payment.
  expect([response.is_signed, JSON.parse(response.body).error.code]).toEqual([true, 6010])
})

test.each<[string, () => PanelRequest, number]>([
  [
    'of another name that leads here',
    () => ({
      headers: { Host: `evil.example:${reference.port}`, Origin: `http://evil.example:${reference.port}` },
    }),
    403,
  ],
  ['to another port', () => ({ headers: { Host: '127.0.0.1:1', Origin: 'http://127.0.0.1:1' } }), 403],
  ['of another site', () => ({ headers: { Origin: 'https://evil.example' } }), 403],
  [
    'of this machine under another name',
    () => ({ headers: { Origin: `http://localhost:${reference.port}` } }),
    403,
  ],
  ['of a sandboxed page', () => ({ headers: { Origin: 'null' } }), 403],
  [
    'that reads, from another site',
    () => ({ verb: 'GET', headers: { Origin: 'https://evil.example' } }),
    403,
  ],
  [
    'for the page, under another name',
    () => ({ verb: 'GET', path: '/reference', headers: { Host: 'evil.example' } }),
    403,
  ],
  ['of a form', () => ({ headers: { 'Content-Type': 'text/plain' } }), 415],
  ['for another application', () => ({ body: '{"application_id":999999,"method":"gateway.ping"}' }), 404],
  ['that is not JSON', () => ({ body: '{' }), 400],
  ['without a method', () => ({ body: '{"application_id":1}' }), 400],
  ['that is too long', () => ({ body: JSON.stringify('x'.repeat(64 * 1024)) }), 413],
  ['for another path', () => ({ verb: 'GET', path: '/reference/../demo.json' }), 404],
])('refuses a request %s', async (_what, sent, expected) => {
  const { status, text, headers } = await send({ body: ping(), ...sent() })
  expect([status, JSON.parse(text)]).toEqual([expected, { message: expect.any(String) }])
  expect(headers).not.toHaveProperty('access-control-allow-origin')
})

test('refuses a request without an origin', async () => {
  const headers = { 'Content-Type': 'application/json' }
  expect(
    (await fetch(`${reference.origin}/reference/try`, { method: 'POST', headers, body: ping() })).status,
  ).toBe(403)
})

test('a gateway serves the page, and no panel', async () => {
  const { base_url } = system.demo()
  const page = await fetch(`${base_url}/reference`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("script-src 'self';")
  expect(policy).not.toContain('unsafe')
  const script = await (await fetch(`${base_url}/reference/page.js`)).text()
  expect(script).not.toContain('/reference/try')
  for (const method of ['GET', 'POST'])
    expect((await fetch(`${base_url}/reference/try`, { method })).status).toBe(400)
})

testInBrowser(
  'shows every method, sends one, shows hostile text as text, and loads nothing from elsewhere',
  async () => {
    const { page, errors } = await (browser as TestBrowser).open({ viewport: { width: 1500, height: 950 } })
    page.setDefaultTimeout(60_000)
    const hosts = new Set<string>()
    page.on('response', (response) => void hosts.add(new URL(response.url()).host))
    await page.goto(reference.href)
    for (const method of ['payment.in', 'attachment.get'])
      await page.getByText(`/public/api/multihub/v1#${method}`).first().waitFor()
    await page.locator('#try > summary').click()
    await page.locator('#try [name=method]').selectOption('payment.in')
    const hostile = '<img src=x onerror="document.title=1">'
    const text = await page.locator('#try textarea').inputValue()
    await page.locator('#try textarea').fill(text.replace('Order 1', JSON.stringify(hostile).slice(1, -1)))
    await page.locator('#try button').click()
    await page.getByText('verified', { exact: true }).waitFor()
    const shown = await page.locator('#try output').textContent()
    expect(shown).toContain('X-Data-Hash: ')
    expect(shown).toContain('"success": true')
    expect(shown).toContain('onerror=')
    expect(await page.locator('#try img').count()).toBe(0)
    expect(await page.title()).toBe('Multihub merchant API')
    await page.locator('#try [name=method]').selectOption('webhook.resend')
    const h_id = /"h_id": "([^"]+)"/.exec(shown ?? '')?.[1]
    expect(JSON.parse(await page.locator('#try textarea').inputValue()).payment_id).toBe(h_id)
    hosts.delete('')
    expect([...hosts]).toEqual([reference.host])
    // Redoc wants to show its logo from another host, which the policy of the page refuses.
    expect(errors.filter((error) => !error.includes('logo-mini.svg'))).toEqual([])
  },
)
