import { createServer } from 'node:http'
import { readConfig } from '#lib/base/config/config.ts'
import { integerSetting, textSetting } from '#lib/base/config/settings.ts'
import { makeDirectory } from '#lib/base/files.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { listen } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Lifecycle } from './lifecycle.ts'
import { type ReadyUrls, runProcess } from './run.ts'

/** Answers `/slow` only when the process must stop, like a create that waits for its provider. */
async function serve(lifecycle: Lifecycle, port: number): Promise<ReadyUrls> {
  const server = createServer(async (request, response) => {
    process.stderr.write(`got ${request.url}\n`)
    if (request.url === '/slow') await sleep(600_000, lifecycle.stopping)
    response.end('answered')
  })
  const listening = await listen(server, { host: '127.0.0.1', port, variable: 'CHILD_PORT' })
  lifecycle.onStop('store', () => log.info({ part: 'store' }, 'closed'))
  lifecycle.onStop('http', () => listening.close())
  return { http: `http://${listening.host_and_port}` }
}

const SCENARIOS: Record<string, (lifecycle: Lifecycle) => Promise<ReadyUrls>> = {
  serve: (lifecycle) => serve(lifecycle, 0),
  port_taken: (lifecycle) => serve(lifecycle, Number(process.env['CHILD_PORT'])),
  config: async () => {
    readConfig({ a: textSetting('CHILD_NAME'), b: integerSetting('CHILD_COUNT', { min: 1, max: 9 }) })
    return {}
  },
  unavailable: async () => {
    throw new Unavailable('MongoDB at mongodb://user:hush@127.0.0.1:1 does not answer (MONGODB_URI)')
  },
  directory: async () => {
    await makeDirectory('/dev/null/data')
    return {}
  },
  unforeseen: async () => {
    throw new TypeError('unforeseen fault')
  },
  failed_call: async () => {
    throw new PublicError(2001)
  },
  slow_start: async (lifecycle) => {
    lifecycle.onStop('store', () => log.info({ part: 'store' }, 'closed'))
    process.stderr.write('got slow_start\n')
    await sleep(600_000, lifecycle.stopping)
    return {}
  },
  hanging_start: async (lifecycle) => {
    lifecycle.onStop('store', () => log.info({ part: 'store' }, 'closed'))
    process.stderr.write('got hanging_start\n')
    return await new Promise(() => {})
  },
  hang: async (lifecycle) => {
    lifecycle.onStop('stuck', () => new Promise<void>(() => {}))
    return {}
  },
  throws: async () => {
    clock.after(1, () => {
      throw new Error('outer', { cause: new Error('inner') })
    })
    return {}
  },
  rejects: async () => {
    clock.after(1, () => void Promise.reject(new Error('outer', { cause: new Error('inner') })))
    return {}
  },
}

runProcess(
  SCENARIOS[process.env['CHILD_SCENARIO'] ?? ''] ?? (() => Promise.reject(new Error('no such scenario'))),
)
