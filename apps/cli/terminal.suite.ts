import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from '@jest/globals'
import { eventually } from '../../test/support/eventually.ts'
import { describeWith } from '../../test/support/needs.ts'
import type { TestCli } from './cli.fixture.ts'

const execute = promisify(execFile)

const SIZE = ['-x', '80', '-y', '24']

/** A person in front of a real terminal of 80 columns: what is asked, and what `--watch` shows. */
export function terminalSuite(cli: () => TestCli): void {
  describeWith('tmux')('on a terminal', () => {
    const server = `multihub-test-${process.pid}`
    const tmux = async (...words: readonly string[]): Promise<string> =>
      (await execute('tmux', ['-L', server, '-f', '/dev/null', ...words])).stdout
    afterAll(() => tmux('kill-server').catch(() => undefined))

    /** Starts a command in a terminal of its own, which shows the exit code afterwards. */
    const start = (name: string, words: readonly string[], variables: Readonly<Record<string, string>>) => {
      const given = Object.entries(variables).map(([key, value]) => `${key}=${value}`)
      const shell = ['sh', '-c', '"$@"; echo "ended $?"; sleep 60', 'sh']
      const command = [process.execPath, resolve('multihub'), ...words]
      const environment = ['env', '-u', 'MULTIHUB_URL', '-u', 'MULTIHUB_TOKEN', ...given]
      return tmux('new-session', '-d', '-s', name, ...SIZE, ...environment, ...shell, ...command)
    }
    const seen = (name: string, text: RegExp): Promise<string | undefined> =>
      eventually(
        () => tmux('capture-pane', '-p', '-t', name),
        (shown) => shown !== undefined && text.test(shown),
      )
    const type = (name: string, ...keys: readonly string[]) => tmux('send-keys', '-t', name, ...keys)

    test('login asks for the address and the token, which nobody sees', async () => {
      const home = join(cli().home, 'terminal')
      await start('login', ['login'], { HOME: home })
      await seen('login', /Address of the back office/)
      await type('login', cli().door.url, 'Enter')
      await seen('login', /Token/)
      await type('login', cli().token, 'Enter')
      expect(await seen('login', /ended 0/)).not.toContain(cli().token.slice(0, 20))
      expect((await cli().run(['whoami'], { variables: { HOME: home } })).code).toBe(0)
    })

    test('what destroys something asks, and does nothing without a yes', async () => {
      const erase = ['merchants', 'erase-person', cli().shop.merchant_id, '--email', 'a@example.com']
      await start('erase', erase, cli().variables)
      await seen('erase', /on\?/)
      await type('erase', 'Enter')
      expect(await seen('erase', /ended 2/)).toContain('nothing was done')
    })

    test('--watch shows what is new, from the top of the terminal', async () => {
      await start('watch', ['merchants', 'list', '--limit', 'all', '--watch'], cli().variables)
      await seen('watch', /^MERCHANT/)
      const create = ['merchants', 'create', '--name', 'seen at once', '--timezone', 'UTC']
      expect((await cli().run([...create, '--environments', 'test'])).code).toBe(0)
      expect(await seen('watch', /seen at once/)).toMatch(/^MERCHANT/)
    })
  })
}
