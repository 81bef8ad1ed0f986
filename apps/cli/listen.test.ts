import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { toBinary } from '@bufbuild/protobuf'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { startDoor, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { paymentEvent } from '../../services/notifier/event.fixture.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { eventually } from '../../test/support/eventually.ts'

let door: TestDoor
let home: string
let merchant_id: string
let token: string
beforeAll(async () => {
  door = await startDoor([merchants, notifier])
  home = mkdtempSync(join(tmpdir(), 'multihub-listen-'))
  merchant_id = await newMerchant()
  token = (await door.newPrincipal(['reveal'], merchant_id)).token
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

async function newMerchant(): Promise<string> {
  const { merchant } = await door.roles.client(MerchantService, 'backoffice').createMerchant({
    name: 'listens',
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
    operationId: uuidv7(),
  })
  return merchant?.merchantId ?? ''
}

async function happen(name: string): Promise<void> {
  const event = paymentEvent({ merchantId: merchant_id, eventKey: `p:${name}`, event: 'payment.completed' })
  const bytes = toBinary(MerchantEventSchema, event)
  await door.roles.client(DeliveryService, 'payments').receiveEvent({ event: bytes })
}

/**
 * A program of a developer: remembers the ids of the callbacks that it takes, and does as `answers` says first: a status, or `never` for
 * no answer.
 */
async function startLocal(answers: (number | 'never')[] = []) {
  const ids: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const status = answers.shift() ?? 200
      if (status === 'never') return
      if (status === 200) ids.push(String(request.headers['x-webhook-id']))
      response.writeHead(status).end(status === 200 ? 'thanks' : 'TypeError: c is undefined')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return { ids, url: `http://127.0.0.1:${port}/hook`, [Symbol.asyncDispose]: async () => void server.close() }
}

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Starts the real command, and collects what it prints. */
function start(
  words: readonly string[],
  by = token,
): { readonly child: ChildProcess; text: string; err: string } {
  const env = { ...process.env, HOME: home, MULTIHUB_URL: door.url, MULTIHUB_TOKEN: by }
  const child = spawn(process.execPath, [resolve('multihub'), 'listen', ...words], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const started = { child, text: '', err: '' }
  child.stdout?.on('data', (chunk) => (started.text += chunk))
  child.stderr?.on('data', (chunk) => (started.err += chunk))
  return started
}

const isListening = (run: { err: string }) =>
  eventually(
    async () => run.err,
    (err = '') => err.includes('Listening'),
  )

const ended = ({ child }: { readonly child: ChildProcess }): Promise<number | null> =>
  new Promise((resolve) => child.once('close', resolve))

async function kill(run: { readonly child: ChildProcess }): Promise<void> {
  const end = ended(run)
  run.child.kill('SIGKILL')
  await end
}

test('each callback goes on as it is, after a kill too, whichever token of the merchant is used', async () => {
  await using local = await startLocal()
  const first = start(['--forward-to', local.url])
  await isListening(first)
  await happen('before')
  await eventually(
    async () => first.text,
    (text = '') => text.includes('thanks'),
  )
  await kill(first)
  await happen('meanwhile')
  const { token: other } = await door.newPrincipal(['reveal'], merchant_id)
  const second = start(['--forward-to', local.url, '--jsonl'], other)
  // A kill between the answer and the cursor sends the first one again.
  await eventually(
    async () => new Set(local.ids).size,
    (size) => size === 2,
  )
  const last = local.ids.at(-1) ?? ''
  const line = await eventually(
    async () => second.text.split('\n').find((one) => one.includes(last)),
    (one) => one !== undefined,
  )
  expect(first.text).toMatch(
    /^\S+ {2}payment\.completed +order-\S+ {2}✓ verified {2}→ 200 {2}\d+ ms {2}thanks\n$/,
  )
  expect(JSON.parse(line ?? '')).toMatchObject({
    event: 'payment.completed',
    deliveryId: last,
    verified: true,
    answer: { kind: 'answered', status: 200, next: 'taken' },
  })
  await kill(second)
})

test('what was not answered before a kill comes again, whatever other targets, merchants and addresses got meanwhile', async () => {
  const answers: (number | 'never')[] = ['never']
  await using local = await startLocal(answers)
  await using elsewhere = await startLocal()
  const first = start(['--forward-to', local.url])
  await isListening(first)
  await happen('unanswered')
  await eventually(
    async () => answers.length,
    (left) => left === 0,
  )
  await kill(first)
  const { token: all } = await door.newPrincipal(['reveal'])
  const other = await newMerchant()
  const of_other = start(['--forward-to', local.url, '--merchant', other], all)
  await isListening(of_other)
  await kill(of_other)
  for (const words of [
    ['--forward-to', elsewhere.url],
    ['--forward-to', local.url, '--url', door.url.replace('127.0.0.1', 'localhost')],
  ]) {
    const run = start(words)
    await isListening(run)
    await happen(words.join(' '))
    await eventually(
      async () => run.text,
      (text = '') => text.includes('thanks'),
    )
    await kill(run)
  }
  expect([elsewhere.ids.length, local.ids.length]).toEqual([1, 1])
  const second = start(['--forward-to', local.url])
  await eventually(
    async () => local.ids.length,
    (length) => length === 4,
  )
  const [last, unanswered, ...others] = local.ids
  expect([unanswered === last, others]).toEqual([false, [...elsewhere.ids, last]])
  await kill(second)
})

test('a token that sees all merchants needs --merchant, and an unknown event is refused', async () => {
  const { token: all } = await door.newPrincipal(['reveal'])
  const run = start([], all)
  expect([await ended(run), run.err]).toEqual([2, 'your token sees all merchants: give --merchant\n'])
  const unknown = start(['--events', 'payment.lost'])
  expect([await ended(unknown), unknown.err]).toEqual([1, expect.stringContaining('payment.completed')])
})

// O20
test.each([
  ['another system', () => `${uuidv7()}.7`],
  ['a system that lost its last writes', (cursor: string) => cursor.replace(/\d+$/, '999')],
])(
  'after a place of %s it says that callbacks may be lost, and goes on with the next',
  async (_name, placeOf) => {
    const folder = join(home, '.config/multihub/listen')
    const first = start([])
    await isListening(first)
    await kill(first)
    for (const file of readdirSync(folder)) {
      const path = join(folder, file)
      writeFileSync(path, placeOf(readFileSync(path, 'utf8')))
    }
    const second = start([])
    await isListening(second)
    await happen(uuidv7())
    await eventually(
      async () => second.text,
      (text = '') => text.includes('payment.completed'),
    )
    expect(second.text.trim().split('\n')).toHaveLength(1)
    await kill(second)
    const [warning = '', begin = ''] = second.err.split('\n')
    expect(warning).toMatch(/^this system does not know how far this command had come.*may be lost/)
    expect(begin).toMatch(/^Listening for merchant \d+ \(test\)\. /)
    expect(second.err).not.toContain('--since-cursor')
    const third = start([])
    await isListening(third)
    await kill(third)
    expect(third.err).toMatch(/^Listening .*, from where the last run stopped/)
  },
)

test('callbacks go to an address of http only', async () => {
  for (const address of ['ftp://127.0.0.1/', 'nothing']) {
    const run = start(['--forward-to', address])
    expect([await ended(run), run.err]).toEqual([2, expect.stringContaining('--forward-to takes an address')])
  }
})

test('--print-secret prints the secret for a script, and ends', async () => {
  const run = start(['--print-secret'])
  expect([await ended(run), run.text, run.err]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/), ''])
})

test('a callback that the program refuses is sent again, with the beginning of its answer shown', async () => {
  await using local = await startLocal([500])
  const run = start(['--forward-to', local.url])
  await isListening(run)
  await happen('refused')
  await eventually(
    async () => local.ids.length,
    (length) => length === 1,
  )
  await eventually(
    async () => run.text,
    (text = '') => /→ 500 {2}\d+ ms {2}TypeError: c is undefined {2}will be sent again\n.*→ 200/.test(text),
  )
  await kill(run)
})
