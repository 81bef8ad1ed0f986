import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { freePort } from '../support/free-port.ts'
import { merchantClient } from '../support/merchant.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { describeLanguage, OLDER_NODES } from './languages.ts'
import type { Runner } from './runner.ts'

const SECRET = '1'.repeat(64)

let system: SystemHere
beforeAll(async () => {
  system = await startHere()
})
afterAll(() => system?.end())

for (const language of OLDER_NODES)
  describeLanguage(language)(`the client in ${language.name}`, () => {
    const { build, start, program, page } = language
    let folder: string
    let runner: Runner
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'multihub-node-'))
      build?.(folder)
      runner = start(folder)
    })
    afterAll(async () => {
      await runner?.stop()
      await rm(folder, { recursive: true, force: true })
    })

    test('makes a first deposit and verifies its callback', async () => {
      const [, code = ''] = /```js\n([\s\S]*?)```/.exec(await readFile(join(ROOT, page), 'utf8')) ?? []
      const { command, folder: cwd } = program(folder, code)
      const { credential, route } = merchantClient(system.demo)
      const env = {
        ...process.env,
        BASE_URL: system.demo().base_url,
        APPLICATION_ID: `${credential.application_id}`,
        SECRET: credential.secret,
        SERVICE_ID: `${route({})}`,
      }
      const [name, ...parameters] = command
      const { stdout } = await promisify(execFile)(name, parameters, { cwd, env, timeout: 60_000 })
      expect(stdout).toMatch(/^verified [\w-]+:payment\.completed: success$/m)
    })

    test('says that nothing was sent if no server is there', async () => {
      const base_url = `http://127.0.0.1:${await freePort()}`
      const credential = { application_id: 20001, secret: SECRET, version: 'v1' }
      await runner.act({ act: 'settings', settings: { base_url, ...credential, tries_max: 1 } })
      const { error } = await runner.act({ act: 'call', method: 'gateway.ping', request: {} })
      expect(error).toMatchObject({ kind: 'transport', reason: 'not_sent' })
    })

    test.each([
      { middleware: 'Express', statuses: [204, 401] },
      { middleware: 'Express after express.raw', statuses: [204, 401] },
      // Its bytes are gone: the sender must try again when the mistake is mended.
      { middleware: 'Express after express.json', statuses: [500, 500] },
    ])('answers callbacks with $middleware', async ({ middleware, statuses }) => {
      const { result: url } = await runner.act({ act: 'serve', middleware, secrets: [SECRET] })
      const body = Buffer.from(`{"id":"${middleware}","data":{"result":{}}}`)
      const deliver = async (secret: string): Promise<number> => {
        const headers = signDelivery(body, new Secret(secret), 'a-delivery', new Date())
        return (await fetch(url, { method: 'POST', headers, body })).status
      }
      expect([await deliver(SECRET), await deliver('2'.repeat(64))]).toEqual(statuses)
      const { result: received } = await runner.act({ act: 'received' })
      expect(received.includes(middleware)).toBe(statuses[0] === 204)
    })
  })
