import { Readable } from 'node:stream'
import { Code } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { createSite } from '../sessions/site.ts'
import type { HttpExchange } from './http-paths.ts'
import { createSignInPaths } from './sign-in-paths.ts'

const HOST = 'localhost:8450'
const MINUTE_MS = 60_000
const FLOW = { device_code: 'code-1', user_code: 'AB-CD', verification_uri: 'https://id.example/device' }
const TIMES = { verification_uri_complete: undefined, expires_in_seconds: 300, interval_seconds: 5 }

/** The paths with a provider that confirms everything at once, and a clock that the test sets. */
function openPaths(
  site = createSite({ url: undefined, has_tls: false }),
  signIn = async () => ({ principal_id: 'asha', name: 'Asha', secret: new Secret('mhs_new') }),
) {
  let now_ms = 0
  const person = { issuer: 'https://id.example', subject: 'asha', name: 'Asha', groups: [] }
  const paths = createSignInPaths({
    open_id: {
      begin: async () => ({
        url: 'https://id.example/auth',
        kept: { state: 's', nonce: 'n', verifier: 'v' },
      }),
      end: async () => person,
      beginDevice: async () => ({ ...FLOW, ...TIMES }),
      pollDevice: async () => person,
    },
    signIn,
    site,
    keyring: testKeys().session,
    now_ms: () => now_ms,
  })
  async function send(path: string, headers: Readonly<Record<string, string>> = {}, fields: object = {}) {
    const all: Record<string, string> = { host: HOST, 'content-type': 'application/json', ...headers }
    const answer = { status: 0, text: '', cookies: [] as string[] }
    const response = {
      writeHead(status: number, given: Readonly<Record<string, string | string[]>>) {
        answer.status = status
        answer.cookies = [given['set-cookie'] ?? []].flat()
      },
      end(text = '') {
        answer.text = text
      },
    }
    const header = (name: string): string | undefined => all[name]
    await paths
      .find((one) => one.path === path)
      ?.serve({
        request: Readable.from([Buffer.from(JSON.stringify(fields))]),
        response,
        header,
        caller: { authorization: undefined, header, address: '198.51.100.7' },
        url: new URL(path, `http://${HOST}`),
      } as unknown as HttpExchange)
    return answer
  }
  return {
    send,
    passMs(ms: number) {
      now_ms += ms
    },
  }
}

/** What a browser sends after an answer. */
const cookieOf = ({
  cookies: [cookie = ''],
}: {
  readonly cookies: readonly string[]
}): { cookie: string } => ({
  cookie: cookie.split(';')[0] ?? '',
})

// O21
test('a browser has 10 minutes to come back from the provider', async () => {
  const { send, passMs } = openPaths()
  const kept = cookieOf(await send('/session/oidc'))
  passMs(10 * MINUTE_MS - 1)
  const signed_in = await send('/session/callback', kept)
  expect(signed_in.status).toBe(200)
  expect(signed_in.cookies).toEqual([
    expect.stringMatching(/^multihub-sign-in-8450=; .*Max-Age=0/),
    expect.stringContaining('multihub-session-8450=mhs_new'),
  ])
  passMs(1)
  expect(await send('/session/callback', kept)).toMatchObject({
    status: 403,
    text: expect.stringContaining('begin again'),
  })
})

// O21: the provider has a part in why a sign-in is refused.
test('the page of a refused sign-in shows the reason as text, and sets no session', async () => {
  const reason = `<script>alert("1")</script> & it's over`
  const { send } = openPaths(undefined, () =>
    Promise.reject(new RpcStatusError(Code.PermissionDenied, reason)),
  )
  const { status, text, cookies } = await send('/session/callback', cookieOf(await send('/session/oidc')))
  expect(status).toBe(403)
  expect(text).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; it&#39;s over')
  expect(text).not.toContain('<script')
  expect(cookies).toEqual([expect.stringMatching(/^multihub-sign-in-8450=; .*Max-Age=0/)])
})

// O21
test('a device flow counts as long as its code, and is no sign-in of a browser', async () => {
  const { send, passMs } = openPaths()
  const { device } = JSON.parse((await send('/session/device')).text)
  expect(device).not.toContain(FLOW.device_code)
  expect((await send('/session/callback', { cookie: `multihub-sign-in-8450=${device}` })).status).toBe(403)
  const kept = cookieOf(await send('/session/oidc')).cookie.split('=')[1]
  await expect(send('/session/device', {}, { device: kept })).rejects.toThrow('begin again')
  expect((await send('/session/device', {}, { device })).text).toContain('mhs_new')
  passMs(300_000)
  await expect(send('/session/device', {}, { device })).rejects.toThrow('begin again')
})

// O21
test('another host, a page of another site and too many sign-ins are refused', async () => {
  const { send } = openPaths()
  const with_tls = openPaths(createSite({ url: 'https://backoffice.example', has_tls: false }))
  for (const path of ['/session/oidc', '/session/callback'])
    for (const paths of [{ send }, with_tls])
      await expect(paths.send(path, { host: 'evil.example' })).rejects.toThrow('browsers reach')
  await expect(send('/session/device', { origin: 'https://evil.example' })).rejects.toThrow('another site')
  for (let requests = 3; requests < 120; requests += 1) await send('/session/oidc')
  await expect(send('/session/oidc')).rejects.toThrow('too many sign-ins')
})
