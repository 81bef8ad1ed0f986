import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { skipWithout } from '../../test/support/skip.ts'
import type { TestCli } from './cli.fixture.ts'
import type { RunResult } from './run-command.fixture.ts'

/** The one file of `@multihub/cli`, without the clone, with this Node.js and with the oldest that it supports. */
export function packageSuite(cli: () => TestCli): void {
  const old_node = findOldNode()

  describe('the package', () => {
    let folder: string
    let file: string
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'multihub-package-'))
      const pack = spawnSync(process.execPath, [resolve('scripts/pack-cli.ts'), join(folder, 'package')], {
        encoding: 'utf8',
      })
      file = pack.stdout.trim()
      if (pack.status !== 0) throw new Error(pack.stderr)
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    /** Runs the file as a process, in a folder without anything. */
    const runWith = (node: string, words: readonly string[]): Promise<RunResult> =>
      new Promise((done) => {
        const env = { ...cli().variables, NODE_DISABLE_COMPILE_CACHE: '1' }
        execFile(node, [file, ...words], { cwd: folder, env }, (error, out, err) =>
          done({ code: Number(error?.code ?? 0), out, err }),
        )
      })

    test.each([
      ['this Node.js', process.execPath],
      ...(typeof old_node === 'string' ? ([['Node.js 20', old_node]] as const) : []),
    ])('needs nothing else: %s', async (_name, node) => {
      const { name, version, bin } = (
        await import(join(folder, 'package/package.json'), { with: { type: 'json' } })
      ).default
      expect([name, bin]).toEqual(['@multihub/cli', { multihub: 'multihub.cjs' }])
      expect((await runWith(node, ['--version'])).out).toBe(`${version}\n`)
      expect((await runWith(node, ['--help'])).out).toContain('refunds')
      const merchant_id = cli().shop.merchant_id
      const listed = await runWith(node, ['merchants', 'list', '--json', '--limit', 'all'])
      expect(JSON.parse(listed.out)).toEqual(
        expect.arrayContaining([expect.objectContaining({ merchantId: merchant_id })]),
      )
      const adjust = [
        'balances',
        'adjust',
        '--merchant',
        merchant_id,
        '--environment',
        'test',
        '--reason',
        'test',
      ]
      expect(await runWith(node, [...adjust, '--amount', '1.00 INR'])).toMatchObject({ code: 0, err: '' })
      for (const words of [
        ['overview'],
        ['search', merchant_id],
        ['completion', 'bash'],
        ['payments', 'list'],
      ])
        expect([words, await runWith(node, words)]).toEqual([
          words,
          { code: 0, out: expect.any(String), err: expect.not.stringContaining('failed') },
        ])
      expect((await runWith(node, ['timeline', 'nothing'])).code).toBe(1)
      expect((await runWith(node, ['timeline'])).code).toBe(2)
      expect((await runWith(node, ['whoami', '--url', 'http://127.0.0.1:1'])).code).toBe(3)
    })
  })
}

/** Node.js 20 on the path of this machine. */
function findOldNode(): string | { readonly skip: string } {
  for (const folder of ['/usr/bin', '/usr/local/bin', ...(process.env['PATH'] ?? '').split(delimiter)]) {
    const node = join(folder, 'node')
    if (String(spawnSync(node, ['--version']).stdout).startsWith('v20.')) return node
  }
  return skipWithoutOldNode()
}

/** Node.js 20 is not installed by any script, so CI may lack it. */
function skipWithoutOldNode(): { readonly skip: string } {
  const reason = 'there is no Node.js 20 on PATH: the package is tried with this Node.js only'
  if (process.env['MULTIHUB_CI'] !== '1') return skipWithout(reason)
  process.stderr.write(`skipped: ${reason}\n`)
  return { skip: reason }
}
