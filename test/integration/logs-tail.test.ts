import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { doorOf, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let door: TestDoor
let home: string
const running: ChildProcess[] = []
beforeAll(async () => {
  system = await startSupport()
  door = doorOf(system.roles)
  home = mkdtempSync(join(tmpdir(), 'multihub-logs-'))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await system?.[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

/** Starts `multihub logs tail`, and waits until it watches. */
async function tail(token: string, ...words: readonly string[]): Promise<{ readonly out: () => string }> {
  const env = { ...process.env, HOME: home, MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token }
  const child = spawn(process.execPath, [join(ROOT, 'multihub'), 'logs', 'tail', ...words], { env })
  running.push(child)
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  await eventually(
    async () => err,
    (text = '') => text.includes('Watching'),
  )
  return { out: () => out }
}

// O20
test('logs tail shows requests as they come, or those that its filters select, and nothing of a person', async () => {
  const shop = await system.newMerchant()
  const second = await system.newCredential(shop)
  const { token } = await door.newPrincipal(['read'], shop.merchant_id)
  const all = await tail(token)
  const filters = ['--application', second.application_id, '--method', 'payment.status', '--code', '6010']
  const some = await tail(token, ...filters, '--only-refused', '--jsonl')
  const ask = (by: typeof shop, c_id: string) =>
    by.call('payment.status', { payment: { identifiers: { c_id } } })
  const { c_id } = await shop.deposit()
  await ask(shop, 'nothing-1')
  await ask(second, c_id)
  await second.call('payment.status', {
    payment: { identifiers: { c_id: 5 }, payer: { email: 'asha@example.com' } },
  })
  await ask(second, 'nothing-2')
  await eventually(
    async () => [all, some].map(({ out }) => out().split('\n').length - 1),
    (counts) => counts?.[0] === 5 && counts?.[1] === 1,
  )
  const lines = all.out().split('\n')
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}200 {2}payment\.in +\d+(\.\d+)? ms {2}\d+ {2}/)
  expect(lines[0]).toContain(c_id)
  expect(lines[1]).toMatch(/ payment\.status +[\d.]+ ms .* nothing-1 {2}6010 /)
  expect(lines[3]).toMatch(/ 1005 params\.payment\.identifiers\.c_id /)
  expect(all.out()).not.toContain('asha')
  expect(JSON.parse(some.out())).toMatchObject({
    code: 6010,
    cId: 'nothing-2',
    applicationId: second.application_id,
  })
})
