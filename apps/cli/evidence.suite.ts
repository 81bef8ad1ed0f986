import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { TestCli } from './cli.fixture.ts'

const CONTENT = 'what the payer wrote\n'

/** `chargebacks add-evidence --file` and `files get`. */
export function evidenceSuite(cli: () => TestCli): void {
  describe('evidence of a chargeback', () => {
    let id: string
    let folder: string
    const file = () => join(folder, 'letter.txt')
    const add = (path: string, ...words: readonly string[]) =>
      cli().run(['chargebacks', 'add-evidence', id, '--file', path, ...words])
    const evidence = async (): Promise<readonly { attachmentId: string; name: string }[]> =>
      (await cli().json('chargebacks', 'show', id)).evidence
    beforeAll(async () => {
      const { application_id, merchant_id } = cli().shop
      const { references } = await cli().json(
        ...['trigger', 'chargeback.created', '--application', application_id, '--merchant', merchant_id],
      )
      id = references.find(({ kind }: { kind: string }) => kind === 'chargeback').id
      folder = join(cli().home, 'evidence')
      mkdirSync(folder)
      writeFileSync(file(), CONTENT)
    })

    // F2, O21
    test('a file goes up once, whatever is repeated, and comes down as it was', async () => {
      expect(await add(file())).toMatchObject({ code: 0 })
      expect(await add(file())).toMatchObject({ code: 0 })
      const [only, ...more] = await evidence()
      expect([only?.name, more]).toEqual(['letter.txt', []])
      const get = ['files', 'get', only?.attachmentId ?? '', '--merchant', cli().shop.merchant_id]
      const out = join(folder, 'copy.txt')
      expect(await cli().run([...get, '--environment', 'test', '--out', out])).toEqual({
        code: 0,
        out: `${out}  ${CONTENT.length} bytes\n`,
        err: '',
      })
      expect([readFileSync(out, 'utf8'), statSync(out).mode & 0o777]).toEqual([CONTENT, 0o600])
      writeFileSync(out, 'mine')
      expect(await cli().run([...get, '--environment', 'test', '--out', out])).toMatchObject({ code: 2 })
      expect(readFileSync(out, 'utf8')).toBe('mine')
    })

    test('another operation id is another file', async () => {
      const before = (await evidence()).length
      expect(await add(file(), '--operation-id', 'second')).toMatchObject({ code: 0 })
      expect(await add(file(), '--operation-id', 'second')).toMatchObject({ code: 0 })
      expect(await evidence()).toHaveLength(before + 1)
    })

    test('what cannot be evidence is refused before a call, or by the scan', async () => {
      const before = (await evidence()).length
      writeFileSync(join(folder, 'empty.txt'), '')
      writeFileSync(join(folder, 'long.txt'), Buffer.alloc(10 * 1024 * 1024 + 1))
      writeFileSync(join(folder, 'program.exe'), 'a')
      for (const name of ['empty.txt', 'long.txt', 'program.exe', 'missing.txt'])
        expect([name, await add(join(folder, name), '--url', 'http://127.0.0.1:1')]).toMatchObject([
          name,
          { code: 2 },
        ])
      writeFileSync(join(folder, 'no.png'), 'not an image')
      expect(await add(join(folder, 'no.png'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('rejected'),
      })
      expect(await cli().run(['chargebacks', 'add-evidence', id])).toMatchObject({ code: 2 })
      expect(await evidence()).toHaveLength(before)
    })

    test('a file that does not exist leaves no file here', async () => {
      const out = join(folder, 'none.txt')
      const get = [
        'files',
        'get',
        '01a22391-d148-7380-a05c-000000000001',
        '--merchant',
        cli().shop.merchant_id,
      ]
      expect(await cli().run([...get, '--environment', 'test', '--out', out])).toMatchObject({ code: 1 })
      expect(() => statSync(out)).toThrow()
    })
  })
}
