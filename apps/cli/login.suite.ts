import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { createTestBrowser } from '../../test/support/open-id-provider.ts'
import type { TestCli } from './cli.fixture.ts'

/** `login`, `logout`, `whoami` and profiles. */
export function loginSuite(cli: () => TestCli): void {
  describe('signing in', () => {
    const path = () => join(cli().home, '.config/multihub/profiles.json')
    const stored = () => JSON.parse(readFileSync(path(), 'utf8'))
    const variables = () => ({ HOME: cli().home })

    test('login keeps an address and a token in a file of their own, whoami uses them, and logout forgets them', async () => {
      const { door, token, run } = cli()
      expect(await run(['whoami'], { variables: variables() })).toMatchObject({
        code: 2,
        err: expect.stringContaining('multihub login'),
      })
      const login = ['login', '--url', `${door.url}/`, '--profile', 'work']
      expect(await run(login, { variables: variables(), input: `${token}\n` })).toMatchObject({
        code: 0,
        out: expect.stringContaining('(support, money, admin, reveal)'),
      })
      expect(statSync(path()).mode & 0o777).toBe(0o600)
      expect(stored()).toEqual({ work: { url: door.url, token } })
      expect((await run(['whoami', '--profile', 'work', '--json'], { variables: variables() })).code).toBe(0)
      const wrong = await run(['login', '--url', door.url], { variables: variables(), input: 'mhp_wrong\n' })
      expect(wrong.code).toBe(1)
      expect(stored()).toHaveProperty('work')
      const logout = ['logout', '--profile', 'work']
      expect(await run(logout, { variables: variables() })).toMatchObject({
        code: 0,
        err: expect.stringContaining('principals rotate'),
      })
      expect(stored()).toEqual({})
      expect((await run(logout, { variables: variables() })).code).toBe(1)
      for (const url of ['nonsense', 'ftp://a.example'])
        expect((await run(['login', '--url', url], { variables: variables() })).code).toBe(2)
      expect((await run(['login'], { variables: variables() })).code).toBe(2)
    })

    test('a person signs in with OpenID Connect in another browser, and the session ends with logout', async () => {
      const { door, provider, run } = cli()
      provider.person = 'asha'
      provider.groups.set('asha', ['/support'])
      const { promise: shown, resolve } = Promise.withResolvers<string>()
      const login = run(['login', '--url', door.url, '--oidc'], { variables: variables(), onError: resolve })
      await confirm(provider.issuer, await shown)
      expect(await login).toMatchObject({
        code: 0,
        out: `signed in at ${door.url} as Person asha (support)\n`,
      })
      const { token } = stored().default
      expect(await run(['whoami'], { variables: variables() })).toMatchObject({ code: 0 })
      expect(await run(['logout'], { variables: variables() })).toMatchObject({ code: 0, err: '' })
      expect(
        await run(['whoami', '--url', door.url, '--token', token], { variables: variables() }),
      ).toMatchObject({ code: 1 })
    })

    test('a back office that nobody answers for is 3', async () => {
      const login = ['login', '--url', 'http://127.0.0.1:1', '--oidc', '--profile', 'none']
      expect((await cli().run(login, { variables: variables() })).code).toBe(3)
      expect(existsSync(path()) ? stored() : {}).not.toHaveProperty('none')
    })
  })
}

/** Opens the shown address in a browser, and confirms the shown code. */
async function confirm(issuer: string, shown: string): Promise<void> {
  const [, address = ''] = /^open (\S+)$/m.exec(shown) ?? []
  const [, user_code = ''] = /code (\S+) there/.exec(shown) ?? []
  const browser = createTestBrowser()
  let page = await browser.open(address)
  for (const answer of [{}, { confirm: 'yes' }]) {
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? []
    page = await browser.open(`${issuer}/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ xsrf, user_code, ...answer }).toString(),
    })
  }
}
