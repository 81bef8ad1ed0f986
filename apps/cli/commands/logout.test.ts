import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { readProfile, writeProfile } from '../call/profile.ts'
import { runCommand } from '../program.ts'
import type { Terminal } from '../terminal.ts'

let home: string
let server: Server
let status: number | 'never'
let asked: PromiseWithResolvers<string>
let requests: number
let url: string
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'multihub-logout-'))
  asked = Promise.withResolvers()
  requests = 0
  server = createServer((request, response) => {
    asked.resolve(`${request.method} ${request.url} ${request.headers.authorization}`)
    requests += 1
    if (status !== 'never') response.writeHead(status, { location: '/elsewhere' }).end('{}')
  })
  server.listen(0)
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  rmSync(home, { recursive: true })
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

/** Signs out of a session, and sees whether the profile is kept. */
async function logout(...words: readonly string[]) {
  let [out, err] = ['', '']
  const terminal: Terminal = {
    variables: { HOME: home },
    directory: home,
    stdin: process.stdin,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
  }
  writeProfile('default', { url, token: 'mhs_a' }, terminal)
  const code = await runCommand(['logout', ...words], terminal)
  return { code, out, err, is_kept: readProfile('default', terminal) !== undefined }
}

test.each([200, 401])('the profile is forgotten after the session has ended (HTTP %d)', async (answered) => {
  status = answered
  expect(await logout()).toMatchObject({ code: 0, err: '', is_kept: false })
  expect(await asked.promise).toBe('DELETE /session Bearer mhs_a')
})

test.each([
  [503, 3],
  [429, 1],
])(
  'after HTTP %d the session goes on, the profile is kept, and the person learns what to do',
  async (answered, code) => {
    status = answered
    const ended = await logout()
    expect(ended).toMatchObject({ code, out: '', is_kept: true })
    expect(ended.err).toMatch(new RegExp(`HTTP ${answered}\\)\n.*run it again, or with --local`))
    expect(await logout('--local')).toMatchObject({ code: 0, is_kept: false })
  },
)

test('the session is sent to no other address', async () => {
  status = 307
  expect(await logout()).toMatchObject({ code: 3, is_kept: true })
  expect(requests).toBe(1)
})

test('a back office that does not answer is not waited for without end', async () => {
  status = 'never'
  using clock = installManualClock()
  const ended = logout()
  await asked.promise
  await clock.advance(30_000)
  expect(await ended).toMatchObject({ code: 3, is_kept: true })
})

test('login with --insecure sends the token over http to another address', async () => {
  status = 401
  const login = ['login', '--url', url.replace('127.0.0.1', '0.0.0.0'), '--token', 'mhp_a', '--insecure']
  const output = { write: () => true }
  const terminal = {
    variables: { HOME: home },
    directory: home,
    stdin: process.stdin,
    stdout: output,
    stderr: output,
  }
  expect(await runCommand(login, terminal)).toBe(1)
  expect(await asked.promise).toMatch(/WhoAmI Bearer mhp_a$/)
})
