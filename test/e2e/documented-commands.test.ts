import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { testWith } from '../support/needs.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const testInBash = testWith('bash', 'openssl', 'curl')

/** What a reader does in other terminals: here the system and the receiver run already. */
const OTHER_TERMINAL = /^(?:npm start|node scripts\/receiver\.mjs.*)\n$/

let system: TestSystem
let receiver: Receiver
/** A data folder with the demo.json of the system. */
let home: string
beforeAll(async () => {
  system = await startOneProcess()
  receiver = await startReceiver()
  home = await mkdtemp(join(tmpdir(), 'multihub-commands-'))
  await writeFile(join(home, 'demo.json'), JSON.stringify(system.demo()))
})
afterAll(async () => {
  await receiver?.stop()
  await system?.end()
  if (home !== undefined) await rm(home, { recursive: true, force: true })
})

/** Runs all commands of a page in one shell, as a reader does who copies them, and returns the JSON that they print. */
async function runCommandsOf(page: string) {
  const text = await readFile(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  const program = blocks.filter((block) => !OTHER_TERMINAL.test(block)).join('\n')
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const { stdout } = await run(
    'bash',
    ['--norc', '-euc', program.replace('http://127.0.0.1:8099/', receiver.url)],
    {
      cwd: ROOT,
      env: { PATH: path, MULTIHUB_HOME: home },
    },
  )
  return stdout.split(/(?<=\})\s*(?=\{)/).map((json) => JSON.parse(json))
}

const PONG = { success: true, result: { message: 'pong' } }

testInBash('the commands of README.md create a deposit, show its balance and verify the ledger', async () => {
  const [created, balance, ...verification] = await runCommandsOf('README.md')
  expect(created).toMatchObject({ success: true, result: { payment: { status: { status: 'processing' } } } })
  expect(balance.result.balance.amounts).toHaveLength(6)
  expect(verification).toHaveLength(2)
  expect(verification[0]).not.toHaveProperty('code')
  const { c_id, h_id } = created.result.payment.identifiers
  await eventually(
    async () => receiver.of(c_id).map(({ body }) => body.id),
    (ids) => ids?.includes(`${h_id}:payment.completed`) ?? false,
  )
})

testInBash('the first request of a merchant is answered', async () => {
  expect(await runCommandsOf('docs/merchants/README.md')).toMatchObject([PONG])
})

testInBash('the command of the page about withdrawals creates one', async () => {
  const [created, ...others] = await runCommandsOf('docs/merchants/withdrawals.md')
  expect(others).toEqual([])
  expect(created).toMatchObject({
    success: true,
    result: {
      payment: { destination: 'out', receiver: { bank_account: { id: '123456789012' } } },
      operation: { operation_type: 'withdrawal' },
    },
  })
})

testInBash('the commands of the page about files upload one', async () => {
  const [uploaded, finalized, status, ...others] = await runCommandsOf('docs/merchants/files.md')
  expect(others).toEqual([])
  expect(uploaded.result.attachment).toMatchObject({ status: 'uploaded', size: 10 })
  const { h_id } = uploaded.result.attachment.identifiers
  expect(finalized.result.attachment).toMatchObject({ status: 'scanning', identifiers: { h_id } })
  expect(status.result).toEqual({ h_id, status: 'scanning' })
})

testInBash('the commands of the page about tickets open one', async () => {
  expect(await runCommandsOf('docs/merchants/tickets.md')).toMatchObject([
    { success: true, result: { category: 'question', status: 'open' } },
  ])
})

testInBash('the commands of the page about authentication run its examples', async () => {
  expect(await runCommandsOf('docs/merchants/authentication.md')).toMatchObject([PONG, PONG])
})
