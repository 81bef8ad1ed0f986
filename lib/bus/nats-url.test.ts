import { afterAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { startPrivateNats } from '../../test/support/servers.ts'
import type { Bus } from './bus.ts'
import { openBus } from './open.ts'

const USER = encodeURIComponent('multi@hub')
const PASSWORD = encodeURIComponent('a:b@c/d%e f')
const TOKEN = encodeURIComponent('token@1/2')
const SERVERS = {
  'user and password': {
    server_config: 'authorization { user: "multi@hub", password: "a:b@c/d%e f" }',
    right: `${USER}:${PASSWORD}@`,
    wrong: ['', `${USER}:other@`, `other:${PASSWORD}@`, `${USER}@`],
  },
  'a token': {
    server_config: 'authorization { token: "token@1/2" }',
    right: `${TOKEN}@`,
    wrong: ['', 'other@', `user:${TOKEN}@`],
  },
}

const open = (url: string): Promise<Bus> =>
  openBus({
    nats_url: new Secret(url),
    name: 'test',
    prefix: 'test',
    start_wait: { limit_ms: HANG_LIMIT_MS },
  })

for (const [credentials, { server_config, right, wrong }] of Object.entries(SERVERS)) {
  const nats = await startPrivateNats(server_config)
  if ('skip' in nats) {
    process.stderr.write(`skipped: NATS_URL with ${credentials}: ${nats.skip}\n`)
    test.skip(`NATS_URL with ${credentials}: ${nats.skip}`, () => {})
    continue
  }
  describe(`NATS_URL with ${credentials}`, () => {
    const host = `127.0.0.1:${nats.port}`
    afterAll(() => nats.stop())

    test.each(['nats://HOST', 'HOST', 'nats://127.0.0.1:1, nats://HOST'])(
      'opens a connection: %s',
      async (url) => {
        const bus = await open(url.replace('HOST', `${right}${host}`))
        expect(bus.isConnected()).toBe(true)
        await bus.close()
      },
    )

    test.each(wrong)('is refused with the credentials %j', async (other) => {
      await expect(open(`nats://${other}${host}`)).rejects.toThrow(
        /refuses the credentials: correct NATS_URL or NATS_CREDENTIALS$/,
      )
    })
  })
}
