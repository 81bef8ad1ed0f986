import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { testWith } from '../support/needs.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const testInBash = testWith('bash', 'openssl', 'curl')

/** What a reader does in other terminals: here the system runs already, and the test listens. */
const OTHER_TERMINAL = /^(?:npm start|\.\/multihub listen.*)\n$/

let system: SystemHere
/** A data folder with the demo.json of the system. */
let home: string
/** What the commands of a page find in their environment: the local run, whose token sees all merchants. */
let variables: Record<string, string>
const listeners: ChildProcess[] = []
beforeAll(async () => {
  system = await startHere()
  home = await mkdtemp(join(tmpdir(), 'multihub-commands-'))
  await writeFile(join(home, 'demo.json'), JSON.stringify(system.demo()))
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  variables = { PATH: path, HOME: home, MULTIHUB_HOME: home }
})
afterAll(async () => {
  for (const listener of listeners) listener.kill('SIGKILL')
  await system?.end()
  if (home !== undefined) await rm(home, { recursive: true, force: true })
})

/** Runs commands in one shell, as a reader does who copies them, and returns what they print. */
async function bash(program: string): Promise<string> {
  const options = { cwd: ROOT, env: variables, timeout: HANG_LIMIT_MS }
  return (await run('bash', ['--norc', '-euc', program], options)).stdout
}

async function blocksOf(page: string): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, page), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
}

/** Runs all commands of a page, and returns the JSON that they print. */
async function runCommandsOf(page: string) {
  const blocks = (await blocksOf(page)).filter((block) => !OTHER_TERMINAL.test(block))
  const printed = await bash(blocks.join('\n'))
  // A document has one line, and what people read may follow it in the same line.
  return printed
    .split(/(?<=\})(?=[A-Za-z{])|\n/)
    .filter((part) => part.startsWith('{'))
    .map((json) => JSON.parse(json))
}

/** Runs the block of a page that listens, and returns what it has printed so far. */
async function listenAs(page: string, folder = ROOT): Promise<() => string> {
  const block = (await blocksOf(page)).find((one) => one.startsWith('./multihub listen')) ?? ''
  const program = `exec ${block.replace('./multihub', join(ROOT, 'multihub'))}`
  const child = spawn('bash', ['--norc', '-euc', program], { cwd: folder, env: variables })
  listeners.push(child)
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  await eventually(
    async () => err,
    (text = '') => text.includes('Listening'),
  )
  return () => out
}

const PONG = { success: true, result: { message: 'pong' } }

testInBash(
  'the commands of README.md create a deposit, explain it, show its balance and verify the ledger',
  async () => {
    const heard = await listenAs('README.md')
    const [created, balance, ...verification] = await runCommandsOf('README.md')
    expect(created).toMatchObject({
      success: true,
      result: { payment: { status: { status: 'processing' } } },
    })
    expect(balance.result.balance.amounts).toHaveLength(6)
    expect(verification).toHaveLength(2)
    expect(verification[0]).not.toHaveProperty('code')
    const { c_id } = created.result.payment.identifiers
    await eventually(
      async () => heard(),
      (text = '') => new RegExp(`payment\\.completed +${c_id} +✓ verified`).test(text),
    )
  },
)

testWith(
  'bash',
  'openssl',
  'jq',
)('the commands of the page about callbacks verify one', async () => {
  const page = 'docs/merchants/callbacks.md'
  await listenAs(page, home)
  const [, ...blocks] = (await blocksOf(page)).filter((block) => /multihub|verify/.test(block))
  const file = join(home, 'callbacks.jsonl')
  const program = blocks
    .join('\n')
    .replace('export', 'until grep -q payment.completed callbacks.jsonl; do sleep 0.1; done\nexport')
    .replaceAll('callbacks.jsonl', file)
  expect(await bash(program)).toMatch(/\nverified\n$/)
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

testInBash('the commands of the page about deposits create one and show its status', async () => {
  const [created, status, ...others] = await runCommandsOf('docs/merchants/deposits.md')
  expect(others).toEqual([])
  const { identifiers } = created.result.payment
  expect(created.result.payment.redirect.to.length).toBeGreaterThan(1)
  expect(status.result.payment.identifiers).toMatchObject({ c_id: identifiers.c_id, h_id: identifiers.h_id })
})

testInBash('the command of the page about balances shows them', async () => {
  const [balance, ...others] = await runCommandsOf('docs/merchants/balances.md')
  expect(others).toEqual([])
  expect(balance.result.balance.amounts).toHaveLength(6)
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

testInBash(
  'the commands of the page about refunds request, approve and read one, and hand in evidence',
  async () => {
    const [requested, refund, ticket, ...others] = await runCommandsOf('docs/merchants/refunds.md')
    expect(others).toEqual([])
    expect(requested).toMatchObject({ success: true, result: { amount: '50000', status: 'pending' } })
    const { identifiers } = requested.result
    expect(refund.result).toMatchObject({ identifiers, amount: '50000' })
    expect(['approved', 'completed']).toContain(refund.result.status)
    expect(ticket.result).toMatchObject({ category: 'dispute', status: 'open' })
  },
)

testWith(
  'bash',
  'openssl',
  'curl',
  'python3',
)('the commands of the page about authentication run its examples', async () => {
  expect(await runCommandsOf('docs/merchants/authentication.md')).toMatchObject([PONG, PONG, PONG])
})
