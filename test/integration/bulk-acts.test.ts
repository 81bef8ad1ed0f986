import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { doorOf } from '../../services/backoffice/backoffice.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportSystem, startSupport } from './support.fixture.ts'

const REFUNDS = 12

let system: SupportSystem
let home: string
let variables: Record<string, string>
beforeAll(async () => {
  system = await startSupport()
  home = mkdtempSync(join(tmpdir(), 'multihub-bulk-'))
  const door = doorOf(system.roles)
  const { token } = await door.newPrincipal(['money'])
  variables = { HOME: home, MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token }
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

/** Starts a command; `end` waits for its end. */
function start(...words: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [join(ROOT, 'multihub'), ...words], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout?.on('data', (chunk) => (out += chunk))
  child.stderr?.on('data', (chunk) => (err += chunk))
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, end: async () => ({ code: await closed, out, err }) }
}

test('refunds are approved once each by a command that is killed in the middle and given again', async () => {
  const shop = await system.newMerchant()
  const owner = { merchantId: shop.merchant_id, environment: Environment.TEST }
  for (let n = 0; n < REFUNDS; n += 1) {
    const { c_id } = await shop.deposit()
    const identifiers = { c_id: randomUUID() }
    await shop.call('refund.request', { identifiers, payment: { c_id }, amount: '300' })
  }
  const statuses = async () => {
    const { refunds } = await system.operator(RefundService).listRefunds({ ...owner, pageSize: 100 })
    return refunds.map(({ status }) => status)
  }
  const pending = async () => (await statuses()).filter((status) => status === RefundStatus.PENDING).length
  const words = ['refunds', 'approve', '--merchant', shop.merchant_id]
  expect(await start(...words).end()).toMatchObject({ code: 2, err: expect.stringContaining('--dry-run') })
  expect(await start(...words, '--dry-run').end()).toEqual({
    code: 0,
    out: `${REFUNDS} refunds: 36.00 INR; --yes does it\n`,
    err: '',
  })
  expect(await pending()).toBe(REFUNDS)
  const first = start(...words, '--yes')
  await eventually(pending, (count = REFUNDS) => count < REFUNDS - 2)
  first.child.kill('SIGKILL')
  await first.end()
  const left = await pending()
  expect(left).toBeGreaterThan(0)
  const second = await start(...words, '--yes').end()
  expect(second).toMatchObject({ code: 0, err: expect.stringMatching(/^0 of \d+\n$/) })
  expect(second.out).toMatch(/^\d+ refunds done\n$/)
  await eventually(statuses, (all = []) => all.every((status) => status === RefundStatus.COMPLETED))
  const { balances } = await system.operator(BalanceService).getBalances(owner)
  expect(balances.map(({ available, held }) => [available, held])).toEqual([
    [BigInt(REFUNDS) * (1_000_908n - 300n), 0n],
  ])
  expect(await start(...words, '--yes').end()).toMatchObject({ code: 0, out: '0 refunds done\n' })
})
