import { expect } from '@jest/globals'
import { enter, heading } from '../support/console.ts'
import { startTwoReleases } from '../support/two-releases.ts'
import type { ConsoleFixture, DeclareTest } from './console-reading.suite.ts'

/** The console while a rolling update goes on, and a sign-in by OpenID Connect. */
export function releaseSuite(test: DeclareTest, fixture: () => ConsoleFixture): void {
  // O13.3
  test('with two releases behind one address the console loads itself again, and does nothing that was not asked', async () => {
    const { openConsole, operator, alpha, url, token } = fixture()
    await using releases = await startTwoReleases(url)
    const acts = async (): Promise<readonly string[]> => {
      const { entries } = await operator('multihub.backoffice.v1.AuditService/ListAuditEntries', {
        pageSize: 1_000,
      })
      return entries.map(({ rpc }: { readonly rpc: string }) => rpc)
    }
    releases.serve('mixed')
    const [acts_before, available] = [await acts(), await alpha.available()]
    const opening = openConsole('/overview', releases.url)
    // It cannot load: the files that the new page names are asked of the old release.
    const { page } = await opening
    await page.waitForEvent('request', (request) => new URL(request.url()).pathname === '/overview')
    releases.serve('new')
    await page.getByLabel('Token').waitFor()
    expect(releases.pages.filter((path) => path === '/overview').length).toBeGreaterThan(1)
    await enter(page, token, 'Overview')
    // The update is taken back: a page that was not opened before has a file that is gone. A pointer that passes by asks for nothing.
    releases.serve('old')
    const loaded = releases.pages.length
    await page.getByRole('navigation').getByText('People').hover()
    await page.getByRole('navigation').getByText('Audit').click()
    await heading(page, 'Audit')
    await page.getByRole('row').nth(1).waitFor()
    expect(releases.pages.slice(loaded)).toEqual(['/audit'])
    const sign_in = 'multihub.backoffice.v1.Session/SignIn'
    expect([await acts(), await alpha.available()]).toEqual([[sign_in, ...acts_before], available])
  })

  // O21
  test('a person signs in with OpenID Connect by the button, and has the rights of the group', async () => {
    const { openConsole, provider } = fixture()
    provider.person = 'asha'
    provider.groups.set('asha', ['/support'])
    const { page, errors } = await openConsole('/')
    await page.getByRole('link', { name: 'Sign in with OpenID Connect' }).click()
    await heading(page, 'Overview')
    await page.getByText('Person asha').waitFor()
    expect(await page.getByRole('navigation').textContent()).not.toContain('Audit')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(errors).toEqual([])
  })
}
