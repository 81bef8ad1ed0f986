import { createServer as createHttp, type RequestListener } from 'node:http'
import type { Server, Socket } from 'node:net'
import { afterEach } from '@jest/globals'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { type HostileServer, startHostileServer } from '../../test/support/hostile-server.ts'
import { type InstalledClock, installManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient, type HttpClient, type HttpClientOptions, type HttpRequest } from './client.ts'
import { HttpFailure } from './http-failure.ts'
import { type Listening, listen } from './network.ts'

/** What tests of the HTTP client start. All of it ends after each test. */
export interface HttpFixture {
  /** Stops the clock of requests, so that a test advances it when they have got as far as they can. */
  stopClock(): ManualClock
  client(options?: Partial<HttpClientOptions>): HttpClient
  serve(server: Server): Promise<Listening>
  serveHttp(listener: RequestListener): Promise<string>
  serveHostile(speak: (socket: Socket) => void): Promise<HostileServer>
}

/** Makes the fixture of a test file. */
export function createHttpFixture(): HttpFixture {
  const closers: (() => Promise<void>)[] = []
  const installed: InstalledClock[] = []
  afterEach(async () => {
    for (const clock of installed.splice(0)) clock[Symbol.dispose]()
    await Promise.all(closers.splice(0).map((close) => close()))
  })
  const serve = async (server: Server): Promise<Listening> => {
    const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
    closers.push(() => listening.close(0))
    return listening
  }
  return {
    stopClock() {
      const clock = installManualClock()
      installed.push(clock)
      return clock
    },
    client(options = {}) {
      const made = createHttpClient({ allow: allowAnyAddress, ...options })
      closers.push(() => made.close())
      return made
    },
    serve,
    async serveHttp(listener) {
      const { host_and_port } = await serve(createHttp(listener))
      return `http://${host_and_port}/`
    },
    async serveHostile(speak) {
      const server = await startHostileServer(speak)
      closers.push(() => server.close(0))
      return server
    },
  }
}

/** A POST with a small body. */
export const post = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url,
  body: Buffer.from('{"a":1}'),
  timeout_ms: HANG_LIMIT_MS,
  ...more,
})

/** The kind and the reason of the failure that a request ends with. */
export async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  )
  if (error instanceof HttpFailure) return `${error.kind} ${error.reason}`
  throw error
}
